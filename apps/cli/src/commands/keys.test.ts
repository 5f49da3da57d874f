import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { init } from "./keys.ts";
import { rotate } from "./keys-rotate.ts";

test("a run-token file that holds no key is refused and stays as it is", async () => {
  const dir = tempDirectory();
  const { terminal } = collectingTerminal();
  const file = join(dir, "run-token.jwk");
  for (const text of ["{half", "{}", '{"keys":[]}', '{"keys":["text"]}', "null"]) {
    await writeFile(file, text);
    await assert.rejects(
      rotate(terminal, { dir }),
      { name: "CliError", message: /run-token/ },
      text,
    );
    assert.equal(await readFile(file, "utf8"), text);
  }
});

test("a public key of a service that is none is refused before the server's list is written", async () => {
  const dir = tempDirectory();
  const { terminal } = collectingTerminal();
  await init(terminal, { dir });
  const list = await readFile(join(dir, "auth.conf"), "utf8");
  await writeFile(join(dir, "broker.pub"), 'UBAD" } { user: x');
  await assert.rejects(init(terminal, { dir }), { message: /broker\.pub holds no public NKey/ });
  assert.equal(await readFile(join(dir, "auth.conf"), "utf8"), list);
});
