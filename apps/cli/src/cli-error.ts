import { ServiceError } from "@switchyard/contracts/errors";
import { withoutSubjects } from "@switchyard/contracts/subject-words";
import { exitCodeOf, type ExitCode } from "./exit-codes.ts";
import { fileFailure } from "./file-failure.ts";
import { printable, printableJson } from "./printable.ts";
import { type Terminal } from "./terminal.ts";

/** A failure that the person can understand: what and why in the message, the next command in the hint. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: string;
  readonly hint: string | null;

  constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? null;
  }
}

export interface FailureReport {
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
  /** Only for unexpected failures: the stack, for a bug report. */
  readonly stack: string | null;
  readonly exitCode: ExitCode;
}

/** Turns whatever was thrown into what is shown. */
export function describeFailure(error: unknown): FailureReport {
  if (error instanceof CliError) {
    const { code, message, hint } = error;
    return { code, message, hint, stack: null, exitCode: exitCodeOf(code) };
  }
  if (error instanceof ServiceError) {
    const { code } = error;
    const message = withoutSubjects(error);
    return { code, message, hint: hintOf(error), stack: null, exitCode: exitCodeOf(code) };
  }
  const file = fileFailure(error);
  if (file !== null) return { ...file, stack: null, exitCode: exitCodeOf(file.code) };
  const message = error instanceof Error ? error.message : String(error);
  return {
    code: "internal",
    message: `unexpected failure: ${message}`,
    hint: "this is a defect of yard; please report it with the lines below",
    stack: error instanceof Error ? (error.stack ?? null) : null,
    exitCode: exitCodeOf("internal"),
  };
}

/** Writes a failure to stderr: as lines for people, or as one JSON document. */
export function reportFailure(terminal: Terminal, error: unknown, json: boolean): ExitCode {
  const report = describeFailure(error);
  const { code, message, hint, stack } = report;
  if (json) {
    terminal.error(printableJson({ schemaVersion: 1, error: { code, message, hint } }));
    return report.exitCode;
  }
  terminal.error(`${terminal.paintNote("red", "error:")} ${printable(message)}`);
  if (hint !== null) terminal.error(`  ${terminal.paintNote("dim", "→")} ${printable(hint)}`);
  if (stack !== null) terminal.error(printable(stack));
  return report.exitCode;
}

const HINTS: Readonly<Record<string, string>> = {
  no_responders: "no service answers this; see what runs with: ./yard services",
  disconnected: "NATS is not there; look at it with: ./yard doctor",
  needs_nats:
    "use a context with a NATS server, or run it where the installation is: ./yard context list",
  timeout: "the service is slow or stuck; look at it with: ./yard services",
  deadline_exceeded: "the service is busy; look at it with: ./yard services",
  overloaded: "the service is busy; try again, or start more replicas",
  forbidden:
    "this NATS user may not do that; its permissions come from the contracts: ./yard keys init",
  unknown_agent: "see the agents with: ./yard agents list",
  unknown_model:
    "models and providers are named in models.json, which is read when ./yard dev starts; see docs/models.md",
  model_key_missing:
    "export it where ./yard dev is started, or name a file with apiKeyFile in models.json",
  unknown_skill: "see the skills with: ./yard skills list",
  skill_not_invocable:
    "an agent activates it by itself, or preloads it with the key skills of its file",
  replay_mismatch:
    "if a call above was denied because the run is replayed, its rule needs replayed: true in who (docs/policy.md); else agent, skills, tools or input have changed: ./yard run … --record FILE",
  limit_exceeded:
    "continue it with a higher limit: ./yard runs retry RUN --max-steps 100 (or --max-tokens, --max-cost, …)",
  unknown_session: "see your sessions with: ./yard sessions list",
  agent_required: "name it with --agent; see the agents with: ./yard agents list",
  unknown_job: "see the jobs with: ./yard schedules list --all",
  unknown_webhook: "see your webhooks with: ./yard webhooks list",
  unknown_delivery: "see what was given up with: ./yard webhooks deliveries ID",
  unknown_account: "see the accounts with: ./yard channels list",
  unknown_run: "see the runs with: ./yard runs list",
  unknown_letter: "see what was given up with: ./yard runs dead",
  unknown_approval: "see what waits with: ./yard approvals list",
  unknown_grant: "see the standing approvals with: ./yard grants list",
  unknown_server: "see the servers with: ./yard mcp list",
  unknown_tool: "see the tools with: ./yard mcp tools",
  unknown_question: "see the questions with: ./yard mcp questions list --all",
  unknown_pin: "see its tools with: ./yard mcp pins list SERVER",
  tool_not_approved:
    "look at it with: ./yard mcp pins diff SERVER TOOL; let it be called with: ./yard mcp pins approve SERVER TOOL",
  findings_block:
    "look at them with: ./yard mcp pins diff SERVER TOOL; accept one with: ./yard mcp pins approve SERVER TOOL --override CODE",
  pin_changed: "look at it with: ./yard mcp pins diff SERVER TOOL",
  invalid_content: "see what its fields take with: ./yard mcp questions list",
  question_pending: "see it with: ./yard mcp questions list",
  not_supported: "see what a server offers with: ./yard mcp get SERVER",
  server_exists: "change it with: ./yard mcp update SERVER '{…}', or remove it first",
  server_disabled: "switch it on with: ./yard mcp enable SERVER",
  not_in_file: "take it out with: ./yard mcp remove SERVER",
  login_expired: "begin again with: ./yard mcp login SERVER",
  tool_timeout:
    "wait longer with --timeout, up to callTimeoutMs of the server: ./yard mcp get SERVER",
  server_timeout: "raise callTimeoutMs: ./yard mcp update SERVER '{\"callTimeoutMs\":60000}'",
  server_down: "see its status with: ./yard mcp list",
  invalid_arguments:
    "see the input schema with: ./yard mcp tools --json, or ./yard tools list --json",
  denied: "the rules decide this; for a tool, see why with: ./yard policy explain TOOL",
  policy_unavailable: "without the policy service nothing is called; see: ./yard services",
};

/** The next command for a failed call: what exists instead, or where to look. */
export function hintOf(error: { code: string; data?: unknown }): string | null {
  const approvalId = approvalOf(error.data);
  if (error.code === "approval_required" && approvalId !== null) {
    return `approve it with: ./yard approvals approve ${approvalId}; then call again with --approval ${approvalId}, or with the same --call-id`;
  }
  const known = knownNames(error.data);
  const hint = Object.hasOwn(HINTS, error.code) ? (HINTS[error.code] ?? null) : null;
  return known.length === 0 ? hint : `known: ${known.join(", ")}`;
}

/** Read without the contract: every command loads this file, and its schemas take longer than all else of it. */
function approvalOf(data: unknown): string | null {
  if (typeof data !== "object" || data === null || !("approvalId" in data)) return null;
  return typeof data.approvalId === "string" ? data.approvalId : null;
}

function knownNames(data: unknown): string[] {
  if (typeof data !== "object" || data === null || !("known" in data)) return [];
  return Array.isArray(data.known)
    ? data.known.filter((name) => typeof name === "string").slice(0, 20)
    : [];
}
