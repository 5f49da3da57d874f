import assert from "node:assert/strict";
import { test } from "node:test";
import { RegisteredSkill } from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { SkillDependencies } from "@switchyard/contracts/skill-importer/skills";
import { readRequirements } from "../skill/skill-requirements.ts";
import { parseSkillFile } from "../skill/skill-file.ts";
import { registeredSkill } from "./skill-manifest.ts";

function register(text: string, met = true): RegisteredSkill {
  const { skill, metadata } = parseSkillFile(Buffer.from(text), "some-skill");
  assert(skill !== null);
  const requirements = metadata === null ? null : readRequirements(metadata).requirements;
  const dependencies: SkillDependencies | null =
    requirements === null
      ? null
      : { met, requirements, checks: [], warnings: met ? [] : ["jq is missing"] };
  const located = { ...skill, path: "skills/some-skill", diagnostics: [] };
  return RegisteredSkill.parse(registeredSkill({ skill: located, dependencies }));
}

test("maps a skill to the manifest of a plugin [B12, B14, B16, B30]", () => {
  const { manifest, instructions, sourcePath, registration, dependenciesMet } = register(
    "---\nname: Image Processor\ndescription: Makes thumbnails.\nmetadata: {openclaw: {os: [darwin, win32]}}\n---\n\n  Do it.  \n",
  );
  assert.deepEqual(manifest, {
    id: "openclaw-skill-image-processor",
    name: "image-processor",
    version: "1.0.0",
    author: "OpenClaw Community",
    description: "Makes thumbnails.",
    category: "tools",
    icon: "Plug",
    source: "openclaw",
    tools: [
      {
        name: "image-processor",
        description: "Makes thumbnails.",
        dispatch: "skill",
        parameters: {},
      },
    ],
    keywords: ["openclaw", "imported", "darwin", "windows"],
  });
  assert.equal(instructions, "Do it.");
  assert.equal(sourcePath, "skills/some-skill");
  assert.deepEqual(registration, { source: "local", installer: "openclaw-importer" });
  assert.equal(dependenciesMet, true);
});

test("gives a description to a skill without one, and to its tool [B12, B13]", () => {
  const { manifest } = register("---\nname: bare\nmetadata: {openclaw: {}}\n---\n");
  assert.equal(manifest.description, "OpenClaw skill: bare");
  assert.equal(manifest.tools[0]?.description, "Use the bare skill");
  assert.equal(register("---\nname: bare\n---\n").manifest.description, "Skill: bare");
  const head = "name: bare\ncommand-dispatch: tool\ncommand-tool: fetch";
  const [tool] = register(`---\n${head}\n---\n`).manifest.tools;
  assert.equal(tool?.description, "Execute the bare skill");
});

test("marks only a skill from OpenClaw as openclaw, and names the skill's own author [B4]", () => {
  const facts = (head: string) => {
    const { manifest } = register(`---\nname: x\n${head}\n---\nText.`);
    return [manifest.source, manifest.author, manifest.keywords];
  };
  const others = ["agent-skills", null, ["imported"]];
  assert.deepEqual(facts("description: Does x."), others);
  assert.deepEqual(facts("metadata: { short: x }"), others);
  assert.deepEqual(facts("author: Ada"), ["agent-skills", "Ada", ["imported"]]);
  // The field as the Agent Skills standard defines it.
  assert.deepEqual(facts("metadata: { author: Ada }"), ["agent-skills", "Ada", ["imported"]]);
  const community = ["openclaw", "OpenClaw Community", ["openclaw", "imported"]];
  assert.deepEqual(facts("metadata: { clawdbot: { emoji: x } }"), community);
  assert.deepEqual(facts("command-dispatch: tool\ncommand-tool: fetch"), community);
  const own = ["openclaw", "Ada", ["openclaw", "imported"]];
  assert.deepEqual(facts("author: Ada\nmetadata: { openclaw: {} }"), own);
});

test("the tool of command-dispatch replaces its skill, and only then [B13]", () => {
  const head = "name: web-scraper\ncommand-tool: browser_fetch\ncommand-arg-mode: raw";
  const [tool] = register(`---\n${head}\ncommand-dispatch: tool\n---\nx`).manifest.tools;
  assert.deepEqual(tool, {
    name: "browser_fetch",
    description: "x",
    dispatch: "tool",
    parameters: {},
  });
  assert.equal(register(`---\n${head}\n---\nx`).manifest.tools[0]?.name, "web-scraper");
  const without = "name: web-scraper\ncommand-dispatch: tool";
  assert.equal(register(`---\n${without}\n---\nx`).manifest.tools[0]?.name, "web-scraper");
});

test("reports what is missing on this machine, without refusing the skill [B5, B14]", () => {
  const { warnings, dependenciesMet } = register(
    "---\nname: x\nmetadata: {openclaw: {requires: {bins: [jq]}}}\n---\nx",
    false,
  );
  assert.deepEqual(warnings, ["jq is missing"]);
  assert.equal(dependenciesMet, false);
});

test("warns of a skill whose slash command is built in, and of no other [B6, D26, D62, DR8]", () => {
  const { command, warnings } = register("---\nname: help\nargument-hint: '[topic]'\n---\nx");
  assert.deepEqual(command, {
    name: "/help",
    argumentHint: "[topic]",
    available: false,
    shadowedBy: "the built-in command /help",
  });
  assert.deepEqual(warnings, [
    "/help is the built-in command /help; use the skill with /skill help, or rename it",
  ]);
  const free = register("---\nname: greet\n---\nx");
  assert.deepEqual([free.command.available, free.warnings], [true, []]);
  assert.equal(register("---\nname: greet\nuser-invocable: no\n---\nx").command.available, false);
});

test("reports at the import which content is not run, and which command is used [B1]", () => {
  const parsed = parseSkillFile(Buffer.from("---\nname: skills\n---\n!`ls` and @a.md"), "x");
  assert.deepEqual(
    parsed.findings
      .filter(({ code }) => code === "not_run" || code === "shadowed_command")
      .map(({ severity, code }) => [severity, code]),
    [
      ["info", "not_run"],
      ["warning", "shadowed_command"],
    ],
  );
});

test("reads when to use a skill from the keys that people use for it", () => {
  const { skill } = parseSkillFile(
    Buffer.from("---\nname: x\nwhen_to_use: On  release\ntags: [ship, deploy]\n---\nx"),
    "x",
  );
  assert.deepEqual(skill?.triggers, ["On release", "ship", "deploy"]);
  assert.equal(
    parseSkillFile(Buffer.from("---\nname: x\ntags: {a: b}\n---\nx"), "x").skill?.triggers,
    undefined,
  );
});
