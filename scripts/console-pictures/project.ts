import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const AGENT = `name: reviewer
description: Reads a folder, asks before it looks closer, and would like to write.
model: scripted/plan
plan:
  delayMs: 900
  steps:
    - say: I look around first.
      calls: [{ tool: mcp__files__list_directory, with: { path: . }, as: listing }]
    - say: Two files at once.
      calls:
        - { tool: mcp__files__read_text_file, with: { path: notes.md }, as: notes }
        - { tool: mcp__files__list_directory, with: { path: . } }
    - say: A closer look needs a person.
      calls: [{ tool: mcp__files__get_file_info, with: { path: notes.md }, as: info }]
    - say: Now I write a copy.
      calls: [{ tool: mcp__files__write_file, with: { path: copy.md, content: hello } }]
  answer: "The notes begin with: {{/results/notes/text | firstLine}}"
`;

const RULES = `version: 1
rights:
  - { id: one-person, right: approve-own, users: [cli] }
rules:
  - id: reads
    effect: allow
    approval: auto
    what: { tools: ["files.list_directory", "files.read_text_file", "everything.echo"] }
  - id: closer-looks
    effect: allow
    approval: always
    who: { agents: [reviewer] }
    what: { tools: ["files.get_file_info"] }
  - id: no-writes
    effect: deny
    what: { tools: ["files.write_file"] }
    note: reviewers read
`;

/** Writes a project with one agent whose run shows most of what a run can be: calls, a wait for a person, a denial. */
export async function writeProject(directory: string): Promise<void> {
  const write = async (folder: string, name: string, text: string): Promise<void> => {
    await mkdir(join(directory, folder), { recursive: true });
    await writeFile(join(directory, folder, name), text);
  };
  await write("agents", "reviewer.yaml", AGENT);
  await write("policies", "rules.yaml", RULES);
  const servers = new URL("../../test/console/project/mcp-servers.json", import.meta.url);
  await write(".", "mcp-servers.json", await readFile(servers, "utf8"));
}
