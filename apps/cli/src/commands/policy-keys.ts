import { client } from "@switchyard/bus/call";
import { listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import type { z } from "zod";
import { findBus, withBus } from "../bus-session.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

type TokenKey = z.output<typeof listTokenKeys.reply>["keys"][number];

const USES = {
  signs: "signs",
  next: "accepted, signs when every replica knows it",
  accepted: "accepted until its tokens end",
} as const satisfies Record<TokenKey["use"], string>;

/** `yard policy keys`: the keys of run tokens, and what each is used for. */
export async function keys(terminal: Terminal, options: { json?: true }): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listTokenKeys }).listTokenKeys({}),
  );
  if (options.json) return writeJson(terminal, reply);
  const lines = tableLines<TokenKey>(
    [
      { title: "KEY", value: ({ kid }) => kid },
      { title: "USE", value: ({ use, revoked }) => (revoked ? "revoked" : USES[use]) },
    ],
    reply.keys,
  );
  for (const line of lines) terminal.out(line);
  terminal.note("yard keys rotate makes a new one, yard revoke key <kid> ends one");
}
