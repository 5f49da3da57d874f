import type { Target } from "@switchyard/contracts/channels/channel-address";
import type { Account, Accounts } from "./accounts.ts";

/** Users that may see all accounts and use them. */
const ADMINS = new Set(["cli", "admin"]);

/** True for users that may see the problems of the file. */
export function isAdmin(caller: string): boolean {
  return ADMINS.has(caller);
}

/** True when the account is the caller's, or `channels.json` lets the caller use it. */
export function mayUse({ settings }: Account, caller: string): boolean {
  const { caller: own, callers } = settings.entry;
  return own === caller || isAdmin(caller) || callers.includes("*") || callers.includes(caller);
}

/** True for a conversation of the webchat channel that is another user's: only the account's own user and admins see all. */
export function isForeignChat(
  { settings }: Account,
  { caller, target }: { readonly caller: string; readonly target: Target },
): boolean {
  if (settings.channel !== "webchat" || settings.entry.caller === caller || isAdmin(caller))
    return false;
  return target.kind !== "user" || target.id !== caller;
}

/** Returns the account, or the error text; other users' accounts are not named. */
export function findAccount(
  accounts: Pick<Accounts, "all">,
  asked: {
    readonly caller: string;
    readonly channel: string;
    readonly accountId?: string | undefined;
  },
): { readonly account: Account } | { readonly message: string; readonly known: string[] } {
  const { caller, channel, accountId } = asked;
  const usable = accounts.all.filter((account) => mayUse(account, caller));
  const known = usable.map(({ name }) => name);
  const listed = known.length === 0 ? "you may use none" : `you may use ${known.join(", ")}`;
  const fitting = usable.filter(
    ({ settings }) =>
      settings.channel === channel && (accountId === undefined || settings.accountId === accountId),
  );
  const [account, other] = fitting;
  if (account === undefined) {
    const name =
      accountId === undefined ? `an account of channel ${channel}` : `${channel}/${accountId}`;
    return { message: `there is no ${name.replace(/^an /, "")} for ${caller}; ${listed}`, known };
  }
  if (other !== undefined)
    return { message: `channel ${channel} has several accounts: name one; ${listed}`, known };
  return { account };
}
