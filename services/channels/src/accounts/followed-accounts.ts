import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import type { loginChannelAccount } from "@switchyard/contracts/channels/channels";
import { SerialQueue } from "@switchyard/contracts/serial-queue";
import type { Log } from "@switchyard/service/log";
import { StartError } from "@switchyard/service/start-error";
import { watchFile, type FileWatch } from "@switchyard/service/watch-file";
import type { z } from "zod";
import type { AdapterDefinition } from "../adapters/adapter.ts";
import type { Accounts } from "./accounts.ts";
import {
  ChannelsFileError,
  readChannelsFile,
  variablesOf,
  type ReadChannels,
} from "./channels-file.ts";

export interface FollowedAccountsOptions {
  readonly accounts: Accounts;
  readonly log: Log;
  /** The values of `${VAR}`, unless the file of secrets has them. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly adapters: ReadonlyMap<string, AdapterDefinition>;
  /** `channels.json`. */
  readonly file: string | undefined;
  /** The file with the secrets of logins: a `NAME=value` in each line. */
  readonly secretsFile: string | undefined;
}

export type LoginRequest = z.output<typeof loginChannelAccount.request>;
export type Login = z.output<typeof loginChannelAccount.reply>;

/** No file for secrets is configured, so none can be stored. */
export class NoSecretStore extends Error {
  override readonly name = "NoSecretStore";
}

/**
 * Brings the accounts of `channels.json` into force, and applies edits and logins. Changes run one after the other: an account
 * that changes ends its connection before it begins another one.
 */
export class FollowedAccounts {
  readonly #options: FollowedAccountsOptions;
  readonly #watches: FileWatch[] = [];
  /** Null when no file is configured. */
  #text: string | null = null;
  #secrets: Readonly<Record<string, string>> = {};
  readonly #changes = new SerialQueue();

  constructor(options: FollowedAccountsOptions) {
    this.#options = options;
  }

  /** Rejects with a StartError when the file cannot be used at all. */
  async start(): Promise<void> {
    const { accounts, file, secretsFile } = this.#options;
    if (file === undefined) return accounts.apply({ accounts: [], refused: [] });
    const secrets = secretsFile === undefined ? "" : await textOf(secretsFile);
    this.#secrets = secretsIn(secrets);
    this.#text = await firstText(file);
    await accounts.apply(this.#first(this.#text));
    this.#watch(file, this.#text, (text) => this.#become(text));
    if (secretsFile !== undefined)
      this.#watch(secretsFile, secrets, (text) => {
        this.#secrets = secretsIn(text ?? "");
        return this.#become(this.#text);
      });
  }

  /** Null when the file has no such account, or several. Rejects with NoSecretStore. */
  login(asked: LoginRequest & { readonly signal: AbortSignal }): Promise<Login | null> {
    return this.#changes.run(() => this.#login(asked));
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    await this.#changes.settled();
  }

  async #login({
    channel,
    accountId,
    values,
    signal,
  }: LoginRequest & { readonly signal: AbortSignal }): Promise<Login | null> {
    const { accounts, file = "", secretsFile } = this.#options;
    if (this.#text === null) return null;
    const named = [...variablesOf(this.#text, basename(file))].filter(([name]) =>
      accountId === undefined ? name.startsWith(`${channel}/`) : name === `${channel}/${accountId}`,
    );
    const [[name, variables] = ["", []], other] = named;
    if (name === "" || other !== undefined) return null;
    const about = { channel, accountId: name.slice(channel.length + 1), variables };
    const nothing = { ...about, isStored: false, identity: null, problem: null };
    if (Object.keys(values).length === 0) return nothing;
    if (secretsFile === undefined)
      throw new NoSecretStore(
        "This installation keeps the secrets of accounts elsewhere (YARD_KEYS_DIR has no channels.env): change them where the service's variables come from, and start it again.",
      );
    const foreign = Object.keys(values).find((variable) => !variables.includes(variable));
    if (foreign !== undefined)
      return { ...nothing, problem: `the account's config does not name ${foreign}` };
    const secrets = { ...this.#secrets, ...values };
    const read = this.#read(this.#text, secrets);
    const settings = read.accounts.find((one) => `${one.channel}/${one.accountId}` === name);
    if (settings === undefined) {
      const problem =
        read.refused.find((one) => one.name === name)?.problem ?? "it is switched off";
      return { ...nothing, problem };
    }
    const probed = await accounts.probe(settings, signal);
    if ("problem" in probed) return { ...nothing, problem: probed.problem };
    await writeSecrets(secretsFile, secrets);
    this.#secrets = secrets;
    await this.#apply(this.#text);
    return { ...nothing, isStored: true, identity: probed.identity };
  }

  #become(text: string | null): Promise<void> {
    return this.#changes.run(() => this.#apply(text));
  }

  /** Never rejects. */
  async #apply(text: string | null): Promise<void> {
    const { accounts, log, file = "" } = this.#options;
    try {
      if (text === null) throw new ChannelsFileError(`${basename(file)} cannot be read`);
      await accounts.apply(this.#read(text, this.#secrets));
      this.#text = text;
      log.info({ accounts: accounts.all.length }, "channels file in force");
    } catch (error) {
      if (error instanceof ChannelsFileError) accounts.refuse(error.message);
      else log.error({ err: error }, "channels file not followed");
    }
  }

  #read(text: string, secrets: Readonly<Record<string, string>>): ReadChannels {
    const { env, adapters, file = "" } = this.#options;
    return readChannelsFile(text, {
      fileName: basename(file),
      env: { ...env, ...secrets },
      adapters,
    });
  }

  #first(text: string): ReadChannels {
    try {
      return this.#read(text, this.#secrets);
    } catch (cause) {
      if (!(cause instanceof ChannelsFileError)) throw cause;
      const hint = "docs/channels.md describes its contents";
      throw new StartError(cause.message, { hint, cause });
    }
  }

  #watch(path: string, known: string, become: (text: string | null) => Promise<void>): void {
    const { log } = this.#options;
    this.#watches.push(
      watchFile({
        path,
        known,
        onText: (text) => void become(text),
        onTrouble: (err) =>
          log.warn({ err }, "channels file is not watched; edits count at the next start"),
      }),
    );
  }
}

function firstText(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: unknown) => {
    throw new StartError(`YARD_CHANNELS_FILE cannot be read: ${String(cause)}`, {
      hint: 'name a file that is there; {"accounts":{}} is one without accounts',
      cause,
    });
  });
}

/** A missing file counts as empty. */
function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}

function secretsIn(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/^([A-Za-z_]\w*)=(.+)$/gm)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, value]));
}

/** Writes the file atomically, readable for its owner alone. */
async function writeSecrets(
  path: string,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  const lines = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`);
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, lines.join(""), { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
