import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { checkMcpFile } from "./mcp-file-check.ts";

async function check(text: string) {
  const file = join(tempDirectory(), "mcp-servers.json");
  await writeFile(file, text);
  return checkMcpFile(file);
}

test("a file of servers that cannot be used is reported with its position and what to do", async () => {
  const broken = await check('{"mcpServers": {');
  assert.equal(broken.status, "failed");
  assert.match(broken.summary, /mcp-servers\.json: not valid JSON/);
  assert.match(broken.fix ?? "", /^correct .*mcp-servers\.json$/);
  const noCommand = await check('{"servers":[{"id":"a","transport":"stdio"},{"id":"b"}]}');
  assert.equal(noCommand.status, "failed");
  assert.match(noCommand.summary, /server a: .*missing "command" field; and 1 more/);
});

test("a good file is ok, one with unknown keys a warning, and so is none", async () => {
  assert.equal((await check('{"mcpServers":{"a":{"command":"x"}}}')).status, "ok");
  const stray = await check('{"mcpServers":{},"theme":"dark"}');
  assert.equal(stray.status, "warning");
  assert.match(stray.summary, /"theme" at the top of the file is not read/);
  const none = await checkMcpFile("/nowhere/mcp-servers.json");
  assert.equal(none.status, "warning");
  assert.match(none.fix ?? "", /mcpServers/);
});
