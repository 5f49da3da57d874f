import assert from "node:assert/strict";
import { test } from "node:test";
import type { SkillRequirements } from "@switchyard/contracts/skill-importer/skills";
import { registeredSkill } from "../manifest/skill-manifest.ts";
import { parseSkillFile } from "./skill-file.ts";
import { readRequirements } from "./skill-requirements.ts";

// The skills that OpenClaw's own importer is tested with, written anew after its documentation of 2026.9.6.

const FIXTURES: Readonly<Record<string, string>> = {
  "image-processor": `---
name: image-processor
description: Resizes and converts images.
metadata: {"openclaw":{"emoji":"🖼️","requires":{"bins":["convert"]},"install":[{"id":"brew","kind":"brew","formula":"imagemagick","bins":["convert"]}]}}
---
# Image processor

Run \`convert in.png -resize 50% out.png\` in {baseDir}.
`,
  "web-scraper": `---
name: web-scraper
description: Fetches a page and extracts its text.
user-invocable: true
command-dispatch: tool
command-tool: web_fetch
command-arg-mode: raw
---
Fetches the page that is named.
`,
  "macos-only": `---
name: macos-only
description: Reads the macOS calendar.
metadata:
  openclaw:
    os: [darwin]
---
Use \`icalBuddy\`.
`,
  minimal: `---
name: minimal
description: The least that a skill can say.
---
Do it.
`,
  "env-deps": `---
name: env-deps
description: Talks to a service.
metadata:
  openclaw:
    primaryEnv: SERVICE_TOKEN
    requires:
      env: [SERVICE_TOKEN, SERVICE_URL]
      config: [browser.enabled]
---
Send the request.
`,
  "no-name": `---
description: A skill whose name is that of its directory.
---
Do it.
`,
};

const NOTHING: SkillRequirements = {
  bins: [],
  anyBins: [],
  env: [],
  config: [],
  os: [],
  always: false,
  primaryEnv: null,
  install: [],
};

test("reads the fixtures of OpenClaw's importer as intended [B31, B6, B8, D45, D58]", () => {
  const read = Object.entries(FIXTURES).map(([directory, text]) => {
    const { skill, metadata, findings } = parseSkillFile(Buffer.from(text), directory);
    assert.ok(skill !== null, directory);
    const needs = metadata === null ? NOTHING : readRequirements(metadata).requirements;
    const problems = findings.filter(({ severity }) => severity !== "info");
    assert.deepEqual(problems, [], directory);
    assert.equal(skill.name, directory);
    // Values of a file have no prototype.
    return [directory, JSON.parse(JSON.stringify(needs)) as SkillRequirements] as const;
  });
  assert.deepEqual(Object.fromEntries(read), {
    "image-processor": {
      ...NOTHING,
      bins: ["convert"],
      install: [{ id: "brew", kind: "brew", formula: "imagemagick", bins: ["convert"] }],
    },
    "web-scraper": NOTHING,
    "macos-only": { ...NOTHING, os: ["darwin"] },
    minimal: NOTHING,
    "env-deps": {
      ...NOTHING,
      env: ["SERVICE_TOKEN", "SERVICE_URL"],
      config: ["browser.enabled"],
      primaryEnv: "SERVICE_TOKEN",
    },
    "no-name": NOTHING,
  });
});

test("the manifest contains the tool of a dispatched fixture [B31, B13]", () => {
  const { skill } = parseSkillFile(Buffer.from(FIXTURES["web-scraper"] ?? ""), "web-scraper");
  assert.ok(skill !== null);
  const located = { ...skill, path: "web-scraper", diagnostics: [] };
  const { manifest } = registeredSkill({ skill: located, dependencies: null });
  assert.deepEqual(
    manifest.tools.map(({ name, dispatch }) => [name, dispatch]),
    [["web_fetch", "tool"]],
  );
});
