import assert from "node:assert/strict";
import { test } from "node:test";
import { agentPaths } from "./agent-paths.ts";

test("takes the agent files of a project and nothing beside them", () => {
  const paths = [
    "policy.yaml",
    "agents/a.md",
    "agents/README.md",
    "deep/agents/b.yml",
    "helper/AGENT.md",
    "node_modules/x/agents/c.md",
    ".git/agents/d.md",
    "skills/pdf/SKILL.md",
    "skills/pdf/agents/e.md",
    "agents/deeper/f.md",
  ];
  assert.deepEqual(agentPaths(paths), ["agents/a.md", "deep/agents/b.yml", "helper/AGENT.md"]);
});

test("takes every YAML and Markdown file where no name marks an agent", () => {
  assert.deepEqual(agentPaths(["mine/a.md", "mine/b.yaml", "mine/c.txt", "readme.md"]), [
    "mine/a.md",
    "mine/b.yaml",
  ]);
});

test("leaves alone what lies with a skill at the top", () => {
  assert.deepEqual(agentPaths(["SKILL.md", "agents/a.md"]), []);
});
