import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { observe } from "../test/service-process.ts";

test("loses no line and keeps their order when the process exits right after the last one", async () => {
  const script = `
    import { createLog } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const log = createLog({ service: "test", level: "info" });
    for (let n = 0; n < 1000; n += 1) {
      if (n % 100 === 1) await new Promise((resolve) => setImmediate(resolve));
      log[n % 10 === 0 ? "fatal" : "info"]({ n }, "line");
    }
    process.exit(0);
  `;
  const program = observe(
    spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: "pipe" }),
  );
  assert.equal((await program.exited).code, 0);
  assert.deepEqual(
    program.records.map((record) => record["n"]),
    Array.from({ length: 1000 }, (_, n) => n),
  );
});
