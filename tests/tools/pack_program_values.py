"""Packs what the recorded programs take and give into tests/data/program_values.json.gz.

usage: pack_program_values.py ORACLE_DIRECTORY

For each program: the data of its inputs, and per system the data of its outputs; `out_of_range` names the systems under
which a float that no integer of the dtype holds was converted, which each library and processor does in its own way.
"""

import gzip
import json
import pathlib
import sys


def packed(program):
    results = {
        system: {name: output["data"] for name, output in result["outputs"].items() if "data" in output}
        for system, result in program["results"].items()
        if result.get("outputs")
    }
    inputs = {entry["name"]: entry["data"] for entry in program["inputs"] if "data" in entry}
    flagged = [system for system, result in program["results"].items() if result.get("out_of_range_float_to_int_cast")]
    return {"inputs": inputs, "results": results, "out_of_range": flagged}


oracle = pathlib.Path(sys.argv[1])
target = pathlib.Path(__file__).parent.parent / "data" / "program_values.json.gz"
values = {
    program["id"]: packed(program)
    for file in ["programs_dev.json", "real_dev.json"]
    for program in json.loads((oracle / file).read_text())["programs"]
}
text = json.dumps(values, separators=(",", ":"), sort_keys=True)
target.write_bytes(gzip.compress(text.encode(), mtime=0))
