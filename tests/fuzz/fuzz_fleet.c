/* Logs and reports that come back from nodes. Property: the report is JSON that can be read. */
#include "formats/json.h"
#include "testkernels/fleet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_fleet_report struct fleet_report report = { 0 };
	cleanup_strbuf struct strbuf text = { 0 }, junit = { 0 };
	cleanup_json json_t *doc = NULL;
	struct error err = { 0 };

	fleet_collect(&report, slice_of(data, size), "log");
	fleet_report_sort(&report);
	fleet_report_json(&report, &text);
	fleet_report_junit(&report, &junit);
	if (json_parse(strbuf_slice(&text), &doc, &err) < 0)
		abort();
	return 0;
}
