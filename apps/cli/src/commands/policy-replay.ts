import { client } from "@switchyard/bus/call";
import type { ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import {
  MAX_REPLAYED,
  replayDecisions,
  type RecordedDecision,
  type ReplayedDecision,
} from "@switchyard/contracts/policy/policy-replay";
import type { PolicyTextFile } from "@switchyard/contracts/policy/policy-texts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { storedRecords, withAudit, type TimeRange } from "./audit-read.ts";
import { readPolicyFiles } from "./policy-files.ts";

type DecisionFact = Extract<ChainedRecord, { kind: "decision" }>;

/** Changed decisions, grouped by kind. */
interface Change {
  readonly tool: string;
  readonly who: string;
  readonly before: string;
  readonly after: string;
  readonly beforeRule: string | null;
  readonly afterRule: string | null;
  count: number;
  /** An example of the group. */
  readonly example: string;
}

interface Unknown {
  readonly tool: string;
  readonly needs: string;
  count: number;
}

interface Replayed {
  decisions: number;
  same: number;
  readonly changes: Map<string, Change>;
  readonly unknown: Map<string, Unknown>;
  policyDigest: string | null;
}

/** `yard policy replay`: evaluates recorded decisions against other rules. Exit code 1 when one changes. */
export async function replay(
  terminal: Terminal,
  options: TimeRange & { bundle?: string; json?: true },
): Promise<ExitCode> {
  const files = options.bundle === undefined ? null : await readPolicyFiles(options.bundle);
  const replayed = await withAudit(terminal, async (bus) => {
    const policy = client(bus, { replayDecisions });
    const total: Replayed = {
      decisions: 0,
      same: 0,
      changes: new Map(),
      unknown: new Map(),
      policyDigest: null,
    };
    for await (const page of pages(storedRecords(bus, options))) {
      const request = { ...(files === null ? {} : { files }), decisions: page.map(questionOf) };
      const reply = await policy.replayDecisions(request);
      if (reply.policyDigest === null) throw refused(terminal, reply.problems, files ?? []);
      total.policyDigest = reply.policyDigest;
      for (const [at, result] of reply.results.entries()) {
        const recorded = page[at];
        if (recorded !== undefined) compare(total, recorded, result);
      }
    }
    return total;
  });
  printReplay(terminal, replayed, options);
  return replayed.changes.size === 0 ? EXIT.ok : EXIT.failed;
}

/** Decisions in pages that one request takes; the last one may be empty, so that the files are checked in any case. */
async function* pages(records: AsyncIterable<ChainedRecord>): AsyncGenerator<DecisionFact[]> {
  let page: DecisionFact[] = [];
  for await (const record of records) {
    if (record.kind !== "decision") continue;
    page.push(record);
    if (page.length < MAX_REPLAYED) continue;
    yield page;
    page = [];
  }
  yield page;
}

function questionOf(recorded: DecisionFact): RecordedDecision {
  const { principal, access, tool, server, layers, args, isArgsChanged, at } = recorded;
  const { values, argsDigest } = recorded;
  return {
    principal,
    access,
    tool,
    at,
    ...(server === undefined ? {} : { server }),
    ...(layers === undefined ? {} : { layers }),
    ...(args === undefined || isArgsChanged === true ? {} : { args }),
    ...(values === undefined ? {} : { values, argsDigest }),
  };
}

function compare(total: Replayed, recorded: DecisionFact, result: ReplayedDecision): void {
  total.decisions += 1;
  const { decision, byRules, tool, principal } = recorded;
  // A stop was decided before the rules were evaluated, so their result is unknown.
  if (byRules === null || result.kind === "unknown") {
    const why = result.kind === "unknown" && byRules !== null ? reasonOf(result) : STOPPED;
    const key = `${tool.name} ${why}`;
    const known = total.unknown.get(key) ?? { tool: tool.name, needs: why, count: 0 };
    known.count += 1;
    total.unknown.set(key, known);
    return;
  }
  const before = answerText(
    byRules ?? decision.effect,
    byRules === undefined ? decision.tier : undefined,
  );
  const after = answerText(result.effect, byRules === undefined ? result.tier : undefined);
  if (before === after) {
    total.same += 1;
    return;
  }
  const who = principal.agent ?? principal.user;
  const key = [tool.name, who, before, after, decision.rule, result.rule].join(" ");
  const change = total.changes.get(key) ?? {
    tool: tool.name,
    who,
    before,
    after,
    count: 0,
    beforeRule: decision.rule,
    afterRule: result.rule,
    example: `${recorded.writer}:${recorded.seq}`,
  };
  change.count += 1;
  total.changes.set(key, change);
}

const STOPPED = "a stop decided, not the rules";

/** The reason why a decision could not be replayed. */
function reasonOf({ needs, about }: Extract<ReplayedDecision, { kind: "unknown" }>): string {
  const condition = about ?? "a condition";
  switch (needs) {
    case "history":
      return "a rule is about earlier calls";
    case "values":
      return `the audit has digests of the values, and they do not answer ${condition}`;
    case "right":
      return `the values are encrypted, and you lack the right replay-values that ${condition} needs`;
    case "key":
      return "the policy service has no key for the digests of the values";
    default:
      return `the audit has no ${needs}`;
  }
}

function answerText(effect: string, tier: string | undefined): string {
  return effect === "ask" && tier !== undefined ? `ask (${tier})` : effect;
}

function printReplay(terminal: Terminal, replayed: Replayed, options: { json?: true }): void {
  const { decisions, same, policyDigest } = replayed;
  const changes = [...replayed.changes.values()].toSorted((a, b) => b.count - a.count);
  const unknown = [...replayed.unknown.values()].toSorted((a, b) => b.count - a.count);
  if (options.json) return writeJson(terminal, { policyDigest, decisions, same, changes, unknown });
  const lines = tableLines<Change>(
    [
      { title: "TIMES", value: (change) => String(change.count) },
      { title: "TOOL", value: ({ tool }) => tool },
      { title: "FOR", value: ({ who }) => who },
      { title: "WAS", value: ({ before }) => before },
      { title: "WOULD BE", value: ({ after }) => after },
      {
        title: "RULES",
        value: ({ beforeRule, afterRule }) => `${beforeRule ?? "none"} → ${afterRule ?? "none"}`,
      },
      { title: "EXAMPLE", value: ({ example }) => example },
    ],
    changes,
  );
  for (const line of changes.length === 0 ? [] : lines) terminal.out(printableLine(line));
  const changed = changes.reduce((sum, change) => sum + change.count, 0);
  terminal.out(`${count(decisions, "decision")}: ${same} the same, ${changed} would be others`);
  for (const { tool, needs, count: times } of unknown)
    terminal.note(printableLine(`cannot be replayed: ${times} × ${tool}: ${needs}`));
}

function refused(
  terminal: Terminal,
  problems: readonly { file?: string | undefined; line: number; column: number; message: string }[],
  files: readonly PolicyTextFile[],
): CliError {
  for (const { file = "policy", line, column, message } of problems)
    terminal.note(printableLine(`${file}:${line}:${column}: ${message}`));
  const names = files.map(({ name }) => name).join(", ");
  return new CliError("refused", `the policy ${names} has errors, so nothing was replayed`);
}
