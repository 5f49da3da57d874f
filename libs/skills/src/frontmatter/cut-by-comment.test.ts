import assert from "node:assert/strict";
import { test } from "node:test";
import { cutByComments } from "./cut-by-comment.ts";
import { parseYaml } from "./safe-yaml.ts";

test("proposes the whole text where YAML takes the rest of a line for a comment", () => {
  const yaml = 'name: x # ours\ndescription: for C #1 users\nargument-hint: "a #1"\ntags: a #b';
  const found = cutByComments(yaml, 1);
  assert.deepEqual(
    found.map(({ code, severity, line, column, patch }) => [code, severity, line, column, patch]),
    [
      [
        "cut_by_comment",
        "warning",
        3,
        20,
        {
          line: 3,
          before: "description: for C #1 users",
          after: 'description: "for C #1 users"',
        },
      ],
    ],
  );
  const repaired = parseYaml(found[0]?.patch?.after ?? "", { schema: "failsafe" });
  assert.ok("values" in repaired);
  assert.equal(repaired.values["description"], "for C #1 users");
});
