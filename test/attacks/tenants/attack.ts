import assert from "node:assert/strict";
import type { Bus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { readEvents } from "@switchyard/bus/events";
import { headersOf } from "@switchyard/bus/message-headers";
import { ServiceError } from "@switchyard/contracts/errors";
import { TEAM_B } from "./reachable.ts";
import type { World } from "./world.ts";

/** One attempt of team-b on an object of team-a; it asserts the required answer. */
export interface Attack {
  /** Reads behind the contract's name, such as `by its whole id`. */
  readonly title: string;
  readonly run: (world: World) => Promise<unknown>;
  /** Why it still succeeds; the test fails as soon as it does not. */
  readonly open?: string;
}

/** Attempts with a contract, or the reason why it cannot reach another caller. */
type Row = readonly Attack[] | string;
export type Rows = Readonly<Record<string, Row>>;

/** Resolves when the call was refused with one of the codes. */
export async function refused(asked: Promise<unknown>, ...codes: string[]): Promise<void> {
  const found = await asked.then(
    (reply) => assert.fail(`it was answered: ${JSON.stringify(reply)}`),
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );
  assert.ok(codes.includes(found), `refused with ${found}, not ${codes.join(" or ")}`);
}

/** Publishes a command unchanged and resolves to whether the stream accepted it, or had its message id. */
export async function send(
  bus: Bus,
  subject: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<"stored" | "duplicate"> {
  const { nc } = connectionOf(bus);
  const answer = await nc.request(subject, JSON.stringify(body), {
    headers: headersOf(headers),
    timeout: 10_000,
  });
  return answer.json<{ duplicate?: boolean }>().duplicate === true ? "duplicate" : "stored";
}

type RunEvent = { readonly name: string; readonly payload: Record<string, unknown> };

/** The first event of a run that fits. Rejects after 20 s, or when the run has ended without it. */
export async function eventOf(
  bus: Bus,
  run: string,
  fits: (event: RunEvent) => boolean,
): Promise<RunEvent["payload"]> {
  const signal = AbortSignal.timeout(20_000);
  const filters = [`yard.evt.run.${run.replace("~", ".")}.*`];
  const seen: string[] = [];
  for await (const { subject, payload } of readEvents(bus, {
    filters,
    from: "beginning",
    signal,
  })) {
    const event = {
      name: subject.split(".").at(-1) ?? "",
      payload: payload as RunEvent["payload"],
    }; // every run event is an object
    if (fits(event)) return event.payload;
    seen.push(`${event.name} ${JSON.stringify(payload).slice(0, 300)}`);
  }
  throw new Error(`${run} had not the event that was waited for, but: ${seen.join("\n")}`);
}

/** Sends a command as team-b and resolves to the code of its rejection, which is published to team-b alone. */
export async function rejectionOf(
  { teamB }: World,
  command: { readonly verb: string; readonly id: string; readonly body?: object },
): Promise<unknown> {
  const { verb, id, body = {} } = command;
  const subject = `yard.cmd.${TEAM_B}.run.${verb}.${id}`;
  await send(teamB, subject, body);
  const name = id.slice(id.indexOf("~") + 1);
  const event = await eventOf(
    teamB,
    `${TEAM_B}~${name}`,
    (found) => found.name === "rejected" && found.payload["subject"] === subject,
  );
  return event["code"];
}
