import assert from "node:assert/strict";
import { test } from "node:test";
import { declaredFloors, upwardImport } from "./layout.ts";

const floors = declaredFloors(
  "# x\n\n## Layout\n\n1. `main.ts`, `config.ts`: start\n2. `calls/`: a\n3. `core/`: b\n\n## Next\n\n4. `no/`: not\n",
);

test("the order of folders is the numbered list under Layout", () => {
  assert.deepEqual(
    [...(floors ?? [])],
    [
      ["main.ts", 1],
      ["config.ts", 1],
      ["calls", 2],
      ["core", 3],
    ],
  );
  assert.equal(declaredFloors("# x\n\n## Subjects\n\n1. `main.ts`\n"), undefined);
});

test("an import upwards and an import aside are faults; one down or to a package is not", () => {
  const wrong = (path: string, specifier: string) =>
    upwardImport(floors ?? new Map(), path, specifier);
  const fault = (other: string, own: string) =>
    `${other} does not stand below ${own} in the Layout of the service's README.`;
  assert.equal(wrong("main.ts", "./calls/a.ts"), null);
  assert.equal(wrong("main.ts", "./config.ts"), fault("config.ts", "main.ts"));
  assert.equal(wrong("calls/a.ts", "./b.ts"), null);
  assert.equal(wrong("calls/in/a.ts", "../../core/c.ts"), null);
  assert.equal(wrong("core/in/c.ts", "../../calls/a.ts"), fault("calls", "core"));
  assert.equal(wrong("core/c.ts", "@switchyard/service/calls/x"), null);
});
