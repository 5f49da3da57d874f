import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import type { BusyPolicy } from "@switchyard/contracts/agent-runner/session-key";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import { namedSession } from "../named-session.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { tailRun } from "../run-story.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { runToEnd } from "./run-to-end.ts";
import { answerLine } from "./session-line.ts";
import { ownerOf, type OwnerOption } from "./sessions.ts";

type Sent = z.output<typeof sendToSession.reply>;

interface SendOptions extends OwnerOption {
  readonly agent?: string;
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  readonly onBusy?: BusyPolicy;
  readonly wait: boolean;
  /** Seconds. */
  readonly timeout?: number;
}

/** `yard sessions send`: sends a message and prints the timeline of the run that answers; commands are executed here. */
export async function send(
  terminal: Terminal,
  session: string,
  message: string,
  options: SendOptions,
): Promise<ExitCode> {
  const line = await textOrStandardInput(message);
  const { agent, model, thinking, onBusy, owner, wait, timeout } = options;
  const json = options.json ?? false;
  const said = await answerLine(terminal, { session, line }, options);
  if (said === null) return EXIT.ok;
  return withBus(await findBus(terminal.env), async (bus) => {
    const sent = await client(bus, { sendToSession }).sendToSession({
      session: await namedSession(bus, session, ownerOf(owner)),
      ...said,
      ...ownerOf(owner),
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined ? {} : { model }),
      ...(thinking === undefined ? {} : { thinking }),
      ...(onBusy === undefined ? {} : { onBusy }),
    });
    const { runId, placed } = sent;
    if (!wait) {
      if (json) writeJson(terminal, sent);
      else terminal.out(runId);
      terminal.note(`${placed}; follow it with: ./yard runs tail ${runId}`);
      return EXIT.ok;
    }
    return follow(bus, terminal, { sent, json, timeout });
  });
}

async function follow(
  bus: Bus,
  terminal: Terminal,
  { sent, json, timeout }: { sent: Sent; json: boolean; timeout: number | undefined },
): Promise<ExitCode> {
  const { runId, placed, sessionKey } = sent;
  const text = `${runId}  session ${sessionKey}`;
  const opening = { mark: "▸", label: placed, text, style: "dim" } as const;
  const timeoutMs = timeout === undefined ? null : timeout * 1_000;
  return runToEnd(bus, { terminal, runId, json, timeoutMs, graceMs: 0 }, (followed) =>
    tailRun(bus, { terminal, json, ...followed, runId, opening, live: true }),
  );
}
