import assert from "node:assert/strict";
import { ServiceError } from "@switchyard/contracts/errors";
import { TEAM_B } from "./reachable.ts";
import { eventOf, send } from "./run-messages.ts";
import type { World } from "./world.ts";

/** One attempt of team-b on an object of team-a; it asserts the required answer. */
export interface Attack {
  /** Reads behind the contract's name, such as `by its whole id`. */
  readonly title: string;
  readonly run: (world: World) => Promise<unknown>;
  /** The reason why it still succeeds; the test fails as soon as it does not. */
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
