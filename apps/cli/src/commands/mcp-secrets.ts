import { client } from "@switchyard/bus/call";
import {
  deleteServerSecret,
  listServerSecrets,
  setServerSecret,
  type ServerSecret,
} from "@switchyard/contracts/mcp-broker/mcp-secrets";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { timeText, type Times } from "../quantities.ts";
import { readSecret } from "../read-secret.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";

interface Output {
  readonly json?: true;
}

const contracts = { deleteServerSecret, listServerSecrets, setServerSecret };
type Api = ReturnType<typeof client<typeof contracts>>;

async function withApi<T>(terminal: Terminal, question: (api: Api) => Promise<T>): Promise<T> {
  return withBus(await findBus(terminal.env), (bus) => question(client(bus, contracts)));
}

/** Stores a secret. The value is neither an argument nor printed. */
export async function set(
  terminal: Terminal,
  name: string,
  options: { readonly server?: string[] } & Output,
): Promise<void> {
  const { server: servers } = options;
  const value = process.stdin.isTTY
    ? await readSecret(`value of ${name}: `)
    : await textOrStandardInput("-");
  if (value === "")
    throw new CliError("usage", `the value of ${name} is empty`, {
      hint: `pipe it in: ./yard mcp secret set ${name} < FILE`,
    });
  const request = { name, value, ...(servers === undefined ? {} : { servers }) };
  const reply = await withApi(terminal, (api) => api.setServerSecret(request));
  if (options.json) return writeJson(terminal, reply);
  const { usedBy } = reply.secret;
  terminal.note(`${name} is stored; write it as \${secret:${name}}`);
  if (usedBy.length > 0) terminal.note(`${usedBy.join(", ")} connects anew with it`);
}

/** Lists names, owners and users of secrets. */
export async function list(terminal: Terminal, options: Output & Times): Promise<void> {
  const reply = await withApi(terminal, (api) => api.listServerSecrets({}));
  if (options.json) return writeJson(terminal, reply);
  if (reply.secrets.length === 0)
    return terminal.note("no secret is stored; store one with: ./yard mcp secret set NAME");
  const columns = [
    { title: "NAME", value: ({ name }: ServerSecret) => name },
    { title: "USED BY", value: ({ usedBy }: ServerSecret) => usedBy.join(", ") || "–" },
    { title: "FOR", value: ({ servers }: ServerSecret) => servers?.join(", ") ?? "all servers" },
    { title: "OWNER", value: ({ owner }: ServerSecret) => owner },
    { title: "CHANGED", value: ({ updatedAt }: ServerSecret) => timeText(updatedAt, options) },
  ];
  for (const line of tableLines(columns, reply.secrets)) terminal.out(line);
}

/** Deletes a secret that no server uses. */
export async function remove(terminal: Terminal, name: string, options: Output): Promise<void> {
  const reply = await withApi(terminal, (api) => api.deleteServerSecret({ name }));
  if (options.json) return writeJson(terminal, reply);
  terminal.note(`${name} is deleted`);
}
