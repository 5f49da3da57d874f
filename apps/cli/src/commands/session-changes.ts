import { client } from "@switchyard/bus/call";
import type { BusyPolicy, SessionKind } from "@switchyard/contracts/agent-runner/session-key";
import {
  deleteSession,
  patchSession,
  resetSession,
} from "@switchyard/contracts/agent-runner/sessions";
import { confirm } from "../confirm.ts";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { namedSession } from "../named-session.ts";
import { fieldLines } from "../field-lines.ts";
import { count } from "../quantities.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { describe, ownerOf, type OwnerOption } from "./sessions.ts";

/** Changes what a session is called and how it works. */
export async function set(
  terminal: Terminal,
  session: string,
  options: {
    label?: string;
    kind?: SessionKind;
    onBusy?: BusyPolicy;
    agent?: string;
    model?: string;
    skillsOff?: string;
  } & OwnerOption,
): Promise<void> {
  const { label, kind, onBusy, agent, model, skillsOff, owner } = options;
  const changes = {
    ...(label === undefined ? {} : { label: label === "" ? null : label }),
    ...(kind === undefined ? {} : { kind }),
    ...(onBusy === undefined ? {} : { onBusy }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model: model === "default" || model === "" ? null : model }),
    ...(skillsOff === undefined ? {} : { skillsOff: namesIn(skillsOff) }),
  };
  if (Object.keys(changes).length === 0)
    throw new CliError("usage", "name what is to change", {
      hint: "see what can be changed with: ./yard sessions set --help",
    });
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { patchSession }).patchSession({
      session: await namedSession(bus, session, ownerOf(owner)),
      ...ownerOf(owner),
      ...changes,
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  for (const line of fieldLines(describe(reply.session))) terminal.out(line);
}

function namesIn(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

export async function reset(
  terminal: Terminal,
  session: string,
  options: { yes?: true } & OwnerOption,
): Promise<void> {
  await confirm(`forget everything that was said in ${session}?`, options);
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { resetSession }).resetSession({
      session: await namedSession(bus, session, ownerOf(options.owner)),
      ...ownerOf(options.owner),
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.out(`${reply.session.key} begins anew as ${reply.session.sessionId}`);
  printStopped(terminal, reply);
}

export async function remove(
  terminal: Terminal,
  session: string,
  options: { yes?: true } & OwnerOption,
): Promise<void> {
  await confirm(`delete ${session} and everything that was said in it?`, options);
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { deleteSession }).deleteSession({
      session: await namedSession(bus, session, ownerOf(options.owner)),
      ...ownerOf(options.owner),
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  terminal.out(`${reply.sessionKey} is deleted`);
  printStopped(terminal, reply);
}

function printStopped(
  terminal: Terminal,
  { cancelledRun, droppedRuns }: { cancelledRun: string | null; droppedRuns: string[] },
): void {
  if (cancelledRun !== null) terminal.note(`run ${cancelledRun} is being cancelled`);
  if (droppedRuns.length > 0)
    terminal.note(
      `${count(droppedRuns.length, "waiting message")} refused: ${droppedRuns.join(", ")}`,
    );
}
