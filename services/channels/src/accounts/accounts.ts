import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { AdapterKit, ChannelAdapter, Cursor, Mailbox } from "../adapters/adapter.ts";
import type { AccountSettings, ReadChannels } from "./channels-file.ts";
import { createRedactor, type Redactor } from "./redactor.ts";

/** An account in force. A new object replaces it when its settings change. */
export interface Account {
  readonly name: string;
  readonly settings: AccountSettings;
  readonly adapter: ChannelAdapter;
  /** Replaces this account's secrets in a text. */
  readonly redact: Redactor;
}

export interface AccountsOptions {
  readonly log: Log;
  readonly guard: EgressGuard;
  readonly mailbox: Mailbox;
  readonly cursorOf: (account: { channel: string; accountId: string }) => Cursor;
  readonly now: () => number;
  /** Called for every account that begins or ends; resolves when its inbound connection has ended. */
  readonly onChange: (change: {
    readonly gone: Account | null;
    readonly come: Account | null;
  }) => Promise<void>;
}

/** The accounts that are in force, from the latest readable `channels.json`. */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #accounts = new Map<string, Account>();
  #problems: readonly string[] = [];

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  get all(): readonly Account[] {
    return [...this.#accounts.values()];
  }

  /** The problems of the file, without secrets; the parts with problems are not in force. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  get(channel: string, accountId: string): Account | null {
    return this.#accounts.get(`${channel}/${accountId}`) ?? null;
  }

  /** Records that the file as a whole cannot be read; the accounts in force stay. */
  refuse(problem: string): void {
    this.#problems = [problem];
    this.#options.log.error({ problem }, "channels file not in force");
  }

  /** Creates the accounts of the file. An account that cannot be created stays as it was. */
  async apply({ accounts, refused }: ReadChannels): Promise<void> {
    const problems = refused.map(({ problem }) => problem);
    const named = new Set(refused.map(({ name }) => name));
    for (const settings of accounts) {
      const name = `${settings.channel}/${settings.accountId}`;
      named.add(name);
      const known = this.#accounts.get(name) ?? null;
      if (known?.settings.print === settings.print) continue;
      const made = this.#make(settings);
      if ("problem" in made) problems.push(`account ${name}: ${made.problem}`);
      else await this.#replace(name, made);
    }
    for (const name of this.#accounts.keys()) if (!named.has(name)) await this.#replace(name, null);
    this.#problems = problems;
    for (const problem of problems) this.#options.log.error({ problem }, "account not in force");
  }

  /** Checks whether the provider accepts these settings, without changing the accounts in force. Never rejects. */
  async probe(
    settings: AccountSettings,
    signal: AbortSignal,
  ): Promise<{ readonly identity: string } | { readonly problem: string }> {
    const made = this.#make(settings);
    if ("problem" in made) return made;
    try {
      return await made.adapter.check({ idempotencyKey: "check", signal });
    } catch (error) {
      return { problem: made.redact(error instanceof Error ? error.message : String(error)) };
    } finally {
      await made.adapter.close().catch(() => {}); // it was never in force
    }
  }

  async close(): Promise<void> {
    for (const name of this.#accounts.keys()) await this.#replace(name, null);
  }

  #make(settings: AccountSettings): Account | { readonly problem: string } {
    const { log, guard, mailbox, cursorOf, now } = this.#options;
    const { channel, accountId, adapter, config } = settings;
    const redact = createRedactor(adapter.secrets(config));
    const kit: AdapterKit = {
      channel,
      accountId,
      log: log.child({ channel, accountId }),
      guard,
      mailbox,
      cursor: cursorOf(settings),
      now,
    };
    try {
      return {
        name: `${channel}/${accountId}`,
        settings,
        adapter: adapter.create(config, kit),
        redact,
      };
    } catch (error) {
      return { problem: redact(error instanceof Error ? error.message : String(error)) };
    }
  }

  async #replace(name: string, come: Account | null): Promise<void> {
    const gone = this.#accounts.get(name) ?? null;
    if (come === null) this.#accounts.delete(name);
    else this.#accounts.set(name, come);
    await this.#options.onChange({ gone, come });
    await gone?.adapter.close().catch((error: unknown) => {
      const problem = gone.redact(String(error));
      this.#options.log.warn({ account: name, problem }, "adapter not closed in order");
    });
  }
}
