# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of whole programs on many PEs: published on real wafers."""

import llama
from table import Row, check, table


@table("llama", "One LLaMA3-8B layer, decode at context 4K (wse2)",
       "WaferLLM 2025, real wafer, converted with the authors' 1.1 GHz",
       "A third of a layer is scalar code and task overhead nobody published; function_cycles and "
       "divide_cycles of the machine stand for it.")
def decode(options):
    small = llama.Shape(8, 2, 4, 6)
    values = llama.random_values(small)
    run = llama.decode(small, values).run(options.engine)
    check(run, llama.reference(small, values), 2e-2)
    for shape, published in llama.PUBLISHED:
        if options.quick:
            continue
        run = llama.decode(shape).run(options.engine)
        yield Row(f"{shape.pes} x {shape.pes} PEs", published,
                  run.report["kernels"][-1]["span_cycles"])
