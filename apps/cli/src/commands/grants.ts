import { client } from "@switchyard/bus/call";
import { GrantId, type SessionGrant } from "@switchyard/contracts/policy/approval-record";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { onlyOne } from "../named-run.ts";
import { timeText, type Times } from "../quantities.ts";
import { beginningOf } from "../shown-name.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { actorText } from "./approval-lines.ts";

interface Options {
  readonly json?: true;
}

export async function list(terminal: Terminal, options: Options & Times): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listGrants }).listGrants({ limit: 500 }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.grants.length === 0) return terminal.note("there are no standing approvals");
  const columns = [
    { title: "ID", value: ({ id }: SessionGrant) => id },
    { title: "TOOL", value: ({ tool }: SessionGrant) => tool.name, maxWidth: 48 },
    { title: "WHO", value: actorText, maxWidth: 72 },
    { title: "SAME", value: ({ sameArguments }: SessionGrant) => sameArguments.join(" ") },
    { title: "USES LEFT", value: ({ usesLeft }: SessionGrant) => String(usesLeft) },
    { title: "UNTIL", value: ({ expiresAt }: SessionGrant) => timeText(expiresAt, options) },
    { title: "BY", value: ({ grantedBy }: SessionGrant) => grantedBy },
  ];
  for (const line of tableLines(columns, reply.grants)) terminal.out(line);
}

const LIST = "./yard grants list";
const BEGINNING = /^(?:grt-)?[0-9a-f]{3,}$/;

export async function revoke(terminal: Terminal, id: string, options: Options): Promise<void> {
  const beginning = beginningOf(id) ?? id;
  if (!GrantId.safeParse(id).success && !BEGINNING.test(beginning))
    throw new CliError("usage", `${JSON.stringify(id)} is not a valid id of a standing approval`, {
      hint: `see them with: ${LIST}`,
    });
  const reply = await withBus(await findBus(terminal.env), async (bus) => {
    const service = client(bus, { listGrants, revokeGrant });
    if (GrantId.safeParse(id).success) return service.revokeGrant({ id });
    const ids = (await service.listGrants({ limit: 500 })).grants.map((grant) => grant.id);
    const found = ids.filter(
      (one) => one.startsWith(beginning) || one.startsWith(`grt-${beginning}`),
    );
    const whole = onlyOne(found, { text: id, what: "standing approval", list: LIST });
    if (whole !== null) return service.revokeGrant({ id: whole });
    throw new CliError("unknown_grant", `no standing approval begins with ${beginning}`, {
      hint: `see them with: ${LIST}`,
    });
  });
  if (options.json) return writeJson(terminal, reply);
  terminal.note(
    `grant ${reply.grant.id} is revoked; calls of ${reply.grant.tool.name} need a person again`,
  );
}
