import { realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AccountId } from "@switchyard/contracts/channels/channel-address";
import { AgentName, CallerName } from "@switchyard/contracts/ids";
import { CliError } from "../cli-error.ts";
import { readOptional } from "../read-optional.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { accountOf } from "./channels.ts";

/** The credentials of an account by channel, and the variables that usually hold them. */
const SECRETS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  telegram: { token: "TELEGRAM_BOT_TOKEN" },
  discord: { token: "DISCORD_BOT_TOKEN" },
  slack: { botToken: "SLACK_BOT_TOKEN", appToken: "SLACK_APP_TOKEN" },
  email: { password: "MAIL_PASSWORD" },
  webhook: { secret: "WEBHOOK_SECRET" },
  webchat: {},
  loopback: {},
};
/** In capitals, which a token that was pasted here is not. */
const VARIABLE = /^[A-Z_][A-Z0-9_]{0,127}$/;

interface AddOptions {
  readonly project: string;
  readonly user: string;
  readonly agent?: string;
  readonly owner?: readonly string[];
  readonly secret?: readonly string[];
  readonly address?: string;
  readonly smtp?: string;
  readonly imap?: string;
  readonly mailUser?: string;
  readonly url?: string;
  readonly json?: true;
}

type Accounts = Record<string, Record<string, unknown>>;

/** Writes an account to the project's `channels.json`, with `${VAR}` for each secret. An account that is there stays as it is. */
export async function add(terminal: Terminal, named: string, options: AddOptions): Promise<void> {
  const { channel, accountId = "main" } = accountOf(named);
  const usual = Object.hasOwn(SECRETS, channel) ? SECRETS[channel] : undefined;
  if (usual === undefined)
    throw new CliError("usage", `an account of ${JSON.stringify(channel)} cannot be added here`, {
      hint: `channels are ${Object.keys(SECRETS).join(", ")}`,
    });
  check(
    AccountId.safeParse(accountId).success,
    `${JSON.stringify(accountId)} is not a valid name of an account`,
  );
  const { user: caller, agent, owner: owners = [] } = options;
  check(
    CallerName.safeParse(caller).success,
    `${JSON.stringify(caller)} is not a valid name of a user`,
  );
  check(
    agent === undefined || AgentName.safeParse(agent).success,
    `${JSON.stringify(agent)} is not a valid name of an agent`,
  );
  const variables = { ...usual, ...variablesOf(options.secret ?? [], Object.keys(usual)) };
  const secrets = Object.fromEntries(
    Object.entries(variables).map(([field, name]) => [field, `\${${name}}`]),
  );
  const config = configOf(channel, secrets, options);
  const entry = {
    caller,
    ...(agent !== undefined && { agent }),
    ...(owners.length > 0 && { owners }),
    config,
  };
  const file = await fileIn(options.project);
  const { content, accounts } = await readChannels(file);
  const others = Object.hasOwn(accounts, channel) ? (accounts[channel] ?? {}) : {};
  if (Object.hasOwn(others, accountId))
    throw new CliError("usage", `${file} has the account ${channel}/${accountId} already`, {
      hint: "change it in the file, or name another one: channel/account",
    });
  const all = { ...accounts, [channel]: { ...others, [accountId]: entry } };
  await replace(file, `${JSON.stringify({ ...content, accounts: all }, null, 2)}\n`);
  const needed = Object.values(variables);
  if (options.json)
    return writeJson(terminal, { file, account: `${channel}/${accountId}`, variables: needed });
  terminal.out(`Added ${channel}/${accountId} to ${file}.`);
  if (needed.length > 0)
    terminal.note(
      `give it ${needed.join(" and ")} with: ./yard channels login ${channel}/${accountId}; or set it for the channels service`,
    );
  if (owners.length === 0 && needed.length > 0)
    terminal.note(
      "no sender is allowed yet: pass your provider user id with --owner, or edit direct",
    );
  terminal.note(
    "a channels service that runs takes it up by itself, if it was started with this file and these variables",
  );
}

/** With a reference for each secret. */
function configOf(
  channel: string,
  secrets: Readonly<Record<string, string>>,
  options: AddOptions,
): Record<string, unknown> {
  const { address, smtp, imap, mailUser, url } = options;
  const isMail = channel === "email";
  const isWebhook = channel === "webhook";
  check(
    isMail || [address, smtp, imap, mailUser].every((one) => one === undefined),
    "--address, --smtp, --imap and --mail-user are for email",
  );
  check(isWebhook || url === undefined, "--url is for webhook");
  const { secret, password } = secrets;
  if (isWebhook)
    return {
      inbound: { secrets: [secret] },
      ...(url !== undefined && { outbound: { url, secret } }),
    };
  if (!isMail) return secrets;
  check(address !== undefined && smtp !== undefined, "email needs --address and --smtp");
  const login = { user: mailUser ?? address, password };
  return {
    address,
    smtp: { ...hostOf(smtp ?? "", { port: 465, starttls: 587 }), ...login },
    ...(imap !== undefined && {
      imap: { ...hostOf(imap, { port: 993, starttls: 143 }), ...login },
    }),
  };
}

function hostOf(
  text: string,
  usual: { readonly port: number; readonly starttls: number },
): Record<string, unknown> {
  const [, host, port = String(usual.port)] = /^([\w.-]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  check(host !== undefined, `${JSON.stringify(text)} is no host, or host:port`);
  const isUpgraded = Number(port) === usual.starttls;
  return { host, port: Number(port), ...(isUpgraded && { tls: "starttls" }) };
}

function check(isRight: boolean, problem: string): void {
  if (!isRight) throw new CliError("usage", problem, { hint: "./yard help channels add" });
}

/** Reads `token=NAME`. What is wrong is not repeated: it may be the secret itself. */
function variablesOf(texts: readonly string[], fields: readonly string[]): Record<string, string> {
  const pairs = texts.map((text): [string, string] => {
    const at = text.indexOf("=");
    const [field, name] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    if (fields.includes(field) && VARIABLE.test(name)) return [field, name];
    throw new CliError("usage", "--secret wants a field and the name of a variable", {
      hint:
        fields.length === 0
          ? "this channel has no secrets"
          : `such as --secret ${fields[0]}=MY_TOKEN, with the token in MY_TOKEN; fields are ${fields.join(", ")}`,
    });
  });
  return Object.fromEntries(pairs);
}

async function fileIn(project: string): Promise<string> {
  const root = resolve(project);
  if ((await readOptional(join(root, "mcp-servers.json"))) === null)
    throw new CliError(
      "directory_missing",
      `${root} is not a project: it has no mcp-servers.json`,
      {
        hint: "name one with --project DIR, or make one: ./yard init DIR",
      },
    );
  return join(root, "channels.json");
}

async function readChannels(file: string) {
  const text = await readOptional(file);
  const content = text === null ? {} : parsed(text);
  const accounts = isMap(content) ? (content["accounts"] ?? {}) : null;
  if (isMap(content) && isMap(accounts) && Object.values(accounts).every(isMap))
    return { content, accounts: accounts as Accounts }; // just looked at
  throw new CliError("usage", `${file} is not what channels.json is; nothing was written`, {
    hint: 'it is JSON with "accounts", and in it channels with their accounts: docs/channels.md',
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Written atomically; a link stays a link, and the file keeps its permissions. */
async function replace(file: string, text: string): Promise<void> {
  const real = await realpath(file).catch(() => file); // a new one
  const { mode } = await stat(real).catch(() => ({ mode: 0o644 }));
  const draft = `${real}.${process.pid}.tmp`;
  try {
    await writeFile(draft, text, { mode: mode & 0o777, flag: "wx" });
    await rename(draft, real);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
