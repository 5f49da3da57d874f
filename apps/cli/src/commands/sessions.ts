import { client } from "@switchyard/bus/call";
import type { SessionKind } from "@switchyard/contracts/agent-runner/session-key";
import {
  getSession,
  listSessions,
  sessionHistory,
  type Session,
  type SessionMessage,
} from "@switchyard/contracts/agent-runner/sessions";
import { findBus, withBus } from "../bus-session.ts";
import { fieldLines } from "../field-lines.ts";
import { namedSession } from "../named-session.ts";
import { printable, printableLine } from "../printable.ts";
import { count, formatBytes, timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Style, type Terminal } from "../terminal.ts";

export interface OwnerOption {
  readonly owner?: string;
  readonly json?: true;
}

export async function list(
  terminal: Terminal,
  options: {
    search?: string;
    kind?: SessionKind[];
    active?: number;
    limit: number;
    all?: true;
  } & OwnerOption &
    Times,
): Promise<void> {
  const { search, kind, active, limit, owner, all } = options;
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listSessions }).listSessions({
      limit,
      ...(search === undefined ? {} : { search }),
      ...(kind === undefined ? {} : { kinds: kind }),
      ...(active === undefined ? {} : { activeMinutes: active }),
      ...ownerOf(owner),
      ...(all === true ? { all } : {}),
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.count === 0) {
    const isFiltered = [search, kind, active].some((filter) => filter !== undefined);
    terminal.note(
      isFiltered
        ? "no session fits the filters; see all with: ./yard sessions list"
        : 'no sessions; begin one with: ./yard sessions send main "hello" --agent AGENT',
    );
    return;
  }
  const lines = tableLines<Session>(
    [
      { title: "SESSION", value: ({ key }) => key },
      {
        title: "LABEL",
        value: ({ label }) => printableLine(label ?? ""),
        maxWidth: 24,
        isSpare: true,
      },
      { title: "KIND", value: ({ kind: shown }) => shown, isSpare: true },
      { title: "AGENT", value: ({ agent }) => agent },
      { title: "STATE", value: stateText },
      {
        title: "MESSAGES",
        value: ({ messages }) => String(messages),
        align: "right",
        isSpare: true,
      },
      {
        title: "TOKENS",
        value: ({ totalTokens }) => String(totalTokens),
        align: "right",
        isSpare: true,
      },
      { title: "USED", value: ({ updatedAt }) => timeText(updatedAt, options), align: "right" },
      ...(all === true ? [{ title: "OWNER", value: (row: Session) => row.owner }] : []),
    ],
    reply.sessions,
  );
  for (const line of lines) terminal.out(line);
}

export async function show(
  terminal: Terminal,
  session: string,
  options: { messages: number; tools?: true } & OwnerOption,
): Promise<void> {
  const { messages: limit, owner } = options;
  const { about, said } = await withBus(await findBus(terminal.env), async (bus) => {
    const named = await namedSession(bus, session, ownerOf(owner));
    const query = { session: named, ...ownerOf(owner) };
    const sessions = client(bus, { getSession, sessionHistory });
    const { session: found } = await sessions.getSession(query);
    if (limit === 0) return { about: found, said: null };
    const includeTools = options.tools === true;
    const history = await sessions.sessionHistory({ ...query, limit, includeTools });
    return { about: found, said: history };
  });
  if (options.json) return writeJson(terminal, { session: about, history: said });
  for (const line of fieldLines(describe(about))) terminal.out(line);
  if (said === null) return;
  terminal.out("");
  if (said.truncated) {
    const missing = count(said.droppedMessages, "earlier message");
    terminal.out(terminal.paintOut("dim", `… ${missing} not shown`));
  }
  for (const message of said.messages)
    for (const line of messageLines(message, terminal)) terminal.out(line);
}

/** The field of a request that names another owner. */
export function ownerOf(owner: string | undefined): { owner?: string } {
  return owner === undefined ? {} : { owner };
}

/** Describes a session, line by line. */
export function describe(session: Session): [string, string][] {
  const { lastRun } = session;
  const dropped = session.droppedMessages === 0 ? "" : `, ${session.droppedMessages} dropped`;
  return [
    ["session", `${session.key}  ${session.sessionId}`],
    ["label", session.label ?? ""],
    ["owner", session.owner],
    ["kind", session.kind],
    ["agent", session.agent],
    ["model", session.model ?? ""],
    ["skills off", session.skillsOff.join(", ")],
    ["when busy", session.onBusy],
    ["state", stateText(session)],
    ["run", session.activeRun ?? ""],
    ["last run", lastRun === null ? "" : `${lastRun.runId} ${lastRun.status}`],
    [
      "history",
      `${count(session.messages, "message")}, ${formatBytes(session.bytes)}${dropped}, ${session.totalTokens} tokens`,
    ],
    ["begun", session.createdAt],
    ["used", session.updatedAt],
    ["ends", `${session.endsAt} unless it is used`],
  ];
}

function stateText({ activeRun, queued }: Session): string {
  if (activeRun === null) return "idle";
  return queued === 0 ? "running" : `running, ${queued} waiting`;
}

const SPEAKER: Readonly<Record<SessionMessage["role"], { mark: string; style: Style }>> = {
  user: { mark: "▸", style: "cyan" },
  assistant: { mark: "◆", style: "green" },
  tool: { mark: "←", style: "dim" },
  notice: { mark: "!", style: "yellow" },
};

/** One message: its author and time, then its text, indented by one step. */
function messageLines(message: SessionMessage, { paintOut }: Terminal): string[] {
  const { role, text, at, by, tool, runId } = message;
  const { mark, style } = SPEAKER[role];
  const who = { user: by ?? "user", assistant: "agent", tool: tool ?? "tool", notice: "runner" };
  const head = `${mark} ${printableLine(who[role])}`;
  return [
    `${paintOut(style, head)}  ${paintOut("dim", `${at}  ${runId}`)}`,
    ...printable(text)
      .split("\n")
      .map((line) => `    ${line}`.trimEnd()),
  ];
}
