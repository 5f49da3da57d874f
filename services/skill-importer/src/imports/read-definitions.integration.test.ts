import assert from "node:assert/strict";
import { realpath } from "node:fs/promises";
import { test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { writeFiles } from "../../test/importer-world.ts";
import { readDefinitions } from "./read-definitions.ts";
import { scanDirectory } from "@switchyard/skills/source/scan-directory";

test("a Markdown file among the agents without a frontmatter is named, and a README is not", async () => {
  const root = await realpath(await testDirectory());
  await writeFiles(root, {
    "agents/forgot.md": "You review code.",
    "agents/README.md": "# The agents of this project",
    "agents/reviewer.md": "---\ndescription: Reviews.\n---\nYou review code.",
  });
  const { found, diagnostics } = await readDefinitions(root, await scanDirectory(root, root));
  assert.deepEqual(
    found.map(({ name }) => name),
    ["reviewer"],
  );
  assert.deepEqual(
    diagnostics.map(({ file, code, severity }) => ({ file, code, severity })),
    [{ file: "agents/forgot.md", code: "not_an_agent", severity: "warning" }],
  );
});
