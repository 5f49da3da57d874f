/** Declarations of the installation's operator: the same agents and rules for both teams. */

const users = "users: [team-a, team-b]";

export const rules = `version: 1
rights:
  - { id: sharing, right: share-memory, users: [cli, team-a] }
rules:
  - { id: ask-first, effect: allow, who: { agents: [holder] }, what: { tools: [counting.append] }, approval: always }
  - { id: direct, effect: allow, who: { ${users} }, what: { tools: [counting.big, counting.hang, eliciting.asks] }, approval: auto }
  - { id: only-a, effect: allow, who: { users: [team-a] }, what: { tools: [list_files, counting.append] }, approval: auto }
  - { id: questions, effect: allow, who: { ${users} }, what: { elicitation: [eliciting] } }
  - { id: standing, effect: allow, who: { ${users} }, what: { tools: [write_file] }, approval: session, ttl: 30m }
  - { id: keep, effect: allow, who: { agents: [keeper, sharer] }, what: { tools: [memory_write, memory_read] }, approval: auto }
  - { id: children, effect: allow, who: { agents: [boss] }, what: { tools: [agent] }, approval: auto }
`;

const agent = (name: string, tools: string, plan: string): string => `name: ${name}
description: does as its plan says
model: scripted/plan
${tools}plan:
${plan}`;

const MEMORY = "tools: [memory_write, memory_read]\n";
const KEEPING = `  steps:
    - calls: [{ tool: memory_write, with: { name: { $from: /input/name }, content: { $from: /input/text } }, as: kept }]
    - calls: [{ tool: memory_read, with: {}, as: names }]
  answer: "{{/results/names/text}}"
`;

export const agentFiles: Readonly<Record<string, string>> = {
  echo: agent("echo", "", `  answer: "{{/input}}"\n`),
  asker: agent(
    "asker",
    "",
    `  steps:
    - calls: [{ tool: ask_user, with: { question: "what is the password?" }, as: said }]
  answer: "{{/results/said/text}}"
`,
  ),
  holder: agent(
    "holder",
    "tools: [counting.append]\n",
    `  steps:
    - calls: [{ tool: mcp__counting__append, with: { line: { $from: /input/line } }, as: call }]
  answer: "{{/results/call/text}}"
`,
  ),
  keeper: agent("keeper", MEMORY, KEEPING),
  sharer: agent("sharer", `shared_memory: true\n${MEMORY}`, KEEPING),
  boss: agent(
    "boss",
    "tools: [agent]\nagents: [echo]\n",
    `  steps:
    - calls: [{ tool: agent, with: { agent: echo, task: { $from: /input/task } }, as: child }]
  answer: "{{/results/child/text}}"
`,
  ),
};
