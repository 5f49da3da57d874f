import { client } from "@switchyard/bus/call";
import { CallerName } from "@switchyard/contracts/ids";
import { UserScope, type UserRole } from "@switchyard/contracts/user-roles";
import {
  createUserKey,
  listUserKeys,
  revokeUserKey,
  rotateUserKey,
  UserKeyId,
  type UserKey,
} from "@switchyard/contracts/policy/user-tokens";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { printableLine } from "../printable.ts";
import { timeText, type Times } from "../quantities.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Json {
  readonly json?: true;
}

const contracts = { createUserKey, listUserKeys, revokeUserKey, rotateUserKey };
const SHOWN_ONCE = "keep it now: it is shown once, and only its SHA-256 is kept";

/** `yard keys api create`: the key alone on standard output, so that it can go into a file. */
export async function create(
  terminal: Terminal,
  caller: string,
  options: Json & {
    readonly role: UserRole[];
    readonly scope?: string[];
    readonly note?: string;
    readonly ttl?: number;
  },
): Promise<void> {
  const { role: roles, scope: scopes, note, ttl } = options;
  checked(CallerName.safeParse(caller).success, `${JSON.stringify(caller)} is not a valid caller`, {
    hint: "it is 1-32 characters of a-z 0-9 -, as a NATS user's name is",
  });
  const wrong = scopes?.find((scope) => !UserScope.safeParse(scope).success);
  checked(wrong === undefined, `${JSON.stringify(wrong)} is not a valid scope`, {
    hint: "it is the name of a contract, with *, such as runs.get or 'runs.*'",
  });
  const made = await withApi(terminal, (api) =>
    api.createUserKey({
      caller,
      roles,
      ...(scopes && { scopes }),
      ...(note !== undefined && { note }),
      ...(ttl !== undefined && { ttlSeconds: ttl }),
    }),
  );
  show(terminal, made, options);
}

export async function list(terminal: Terminal, options: Json & Times): Promise<void> {
  const reply = await withApi(terminal, (api) => api.listUserKeys({}));
  if (options.json) return writeJson(terminal, reply);
  if (reply.keys.length === 0)
    return terminal.note("there are no API keys; make one with: ./yard keys api create NAME");
  const columns = [
    { title: "ID", value: ({ id }: UserKey) => id },
    { title: "CALLER", value: ({ caller }: UserKey) => caller },
    { title: "ROLES", value: ({ roles }: UserKey) => roles.join(" ") },
    { title: "SCOPES", value: ({ scopes }: UserKey) => scopes?.join(" ") ?? "all", maxWidth: 40 },
    { title: "MADE", value: ({ createdAt }: UserKey) => timeText(createdAt, options) },
    { title: "ENDS", value: endOf },
    { title: "NOTE", value: ({ note }: UserKey) => printableLine(note ?? "", 60), maxWidth: 40 },
  ];
  for (const line of tableLines(columns, reply.keys)) terminal.out(line);
}

export async function rotate(
  terminal: Terminal,
  id: string,
  options: Json & { readonly overlap: number; readonly ttl?: number },
): Promise<void> {
  checkId(id);
  const { overlap: overlapSeconds, ttl } = options;
  const made = await withApi(terminal, (api) =>
    api.rotateUserKey({ id, overlapSeconds, ...(ttl !== undefined && { ttlSeconds: ttl }) }),
  );
  show(terminal, made, options);
  if (!options.json) terminal.note(`${id} ends in ${overlapSeconds} s`);
}

export async function revoke(terminal: Terminal, id: string, options: Json): Promise<void> {
  checkId(id);
  const reply = await withApi(terminal, (api) => api.revokeUserKey({ id }));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`${id} of ${reply.info.caller} has ended, and every session opened with it`);
}

function show(
  terminal: Terminal,
  made: { readonly key: string; readonly info: UserKey },
  options: Json,
): void {
  if (options.json) return writeJson(terminal, made);
  const { id, caller, roles } = made.info;
  terminal.note(`${id} of ${caller} (${roles.join(", ")}); ${SHOWN_ONCE}`);
  terminal.out(made.key);
}

function endOf({ revokedAt, expiresAt }: UserKey): string {
  if (revokedAt !== null) return `${revokedAt} (revoked)`;
  return expiresAt ?? "never";
}

function checkId(id: string): void {
  checked(
    UserKeyId.safeParse(id).success,
    `${JSON.stringify(id)} is not a valid id of an API key`,
    {
      hint: "see them with: ./yard keys api list",
    },
  );
}

function checked(isGood: boolean, message: string, { hint }: { hint: string }): void {
  if (!isGood) throw new CliError("usage", message, { hint });
}

async function withApi<T>(terminal: Terminal, ask: (api: Api) => Promise<T>): Promise<T> {
  return withBus(await findBus(terminal.env), (bus) => ask(client(bus, contracts)));
}

type Api = ReturnType<typeof client<typeof contracts>>;
