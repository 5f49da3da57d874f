import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import {
  AgentSummary,
  NO_AGENT_LIMITS,
  type AgentDefinition,
} from "@switchyard/contracts/skill-importer/agents";
import { BUILT_IN_ROOT, type Definition } from "./definition.ts";

const DEFAULTS = {
  source: "built-in",
  model: null,
  tools: null,
  skills: [],
  maxSteps: 20,
  temperature: null,
  thinking: null,
  plan: null,
  roles: [],
  limits: NO_AGENT_LIMITS,
  onUnknownOutcome: "fail",
  approval: null,
  contextWindow: null,
  memoryBytes: null,
  sharesMemory: false,
} as const;

type Written = Pick<AgentDefinition, "name" | "description" | "systemPrompt"> &
  Partial<AgentDefinition>;

/** The agents that exist without any file; a project's agent of the same name overrides one. */
export const builtInAgents: readonly AgentDefinition[] = [
  define({
    name: "default",
    description: "General work with every tool that the policy allows.",
    systemPrompt:
      "You do what the user asks, with the tools you are given. Prefer looking to guessing. When a tool call is denied, report it and continue without it; never look for a way round a denial.",
  }),
  define({
    name: "explore",
    description: "Reads files and the web to answer a question; changes nothing.",
    systemPrompt:
      "You find things out and change nothing. Search before you read, read before you answer, and name the file or page behind every claim. When the answer is not there, say where you looked.",
    tools: [
      "read_file",
      "list_directory",
      "web_fetch", // the seed's web_search
      "mcp__files__read_*",
      "mcp__files__list_*",
      "mcp__files__search_*",
    ],
  }),
  define({
    name: "coder",
    description: "Changes code: reads, writes and edits files and runs commands.",
    systemPrompt:
      "You change code. Read what is there first and keep to its style. Make the smallest change that does the job, run the checks, and report what you changed and what the checks said.",
    tools: [
      "read_file",
      "write_file",
      "edit_file",
      "list_directory",
      "execute_command",
      "mcp__files__*",
    ],
    maxSteps: 50,
  }),
  define({
    name: "planner",
    description: "Thinks a task through and writes a plan; has no tools.",
    systemPrompt:
      "You write plans. State the goal, what is known, what is not, the steps in order with what proves that each is done, and the risks. You have no tools, so never claim to have looked at anything.",
    tools: [],
    temperature: 0.9,
  }),
];

/** The same as a source would yield them. */
export const builtInDefinitions: readonly Definition[] = builtInAgents.map((stored) => ({
  kind: "agent",
  name: stored.name,
  version: stored.digest,
  entry: { root: BUILT_IN_ROOT, file: stored.name, summary: AgentSummary.parse(stored) },
  stored,
  files: new Map(),
  facts: [],
  report: null,
}));

function define(written: Written): AgentDefinition {
  const agent = { ...DEFAULTS, skills: [], roles: [], ...written };
  return { ...agent, digest: canonicalDigest(agent) };
}
