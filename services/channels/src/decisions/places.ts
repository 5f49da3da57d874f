import type { Address } from "@switchyard/contracts/channels/channel-address";
import type { ChatLink } from "@switchyard/contracts/policy/chat-links";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { Account } from "../accounts/accounts.ts";
import type { ChannelAdapter } from "../adapters/adapter.ts";

/** True for the adapters in whose conversations persons can decide. */
export function takesDecisions(adapter: ChannelAdapter): boolean {
  return adapter.edit !== undefined || adapter.hasDecisionLinks === true;
}

/** A conversation in which a person, or the members of a group, decide. */
export interface Place {
  readonly account: Account;
  readonly address: Address;
  /** Null for a group. */
  readonly personId: string | null;
}

/** The private chats of links with `asks`, and the groups of `channels.json`. */
export function placesOf(
  { approval, links }: { readonly approval: Approval; readonly links: readonly ChatLink[] },
  accounts: readonly Account[],
): Place[] {
  const chats = chatsOf(links, accounts);
  const groups = accounts.flatMap((account) => {
    const { channel, accountId, entry } = account.settings;
    // A link decides as one person, so it is not sent to several.
    if (account.adapter.edit === undefined) return [];
    return entry.approvals
      .filter(({ of = [entry.caller] }) => of.includes("*") || of.includes(approval.principal.user))
      .map(({ target, threadId }): Place => {
        const thread = threadId === undefined ? {} : { threadId };
        return { account, address: { channel, accountId, target, ...thread }, personId: null };
      });
  });
  return [...chats, ...groups];
}

/** The private chats of links, each with an account that takes decisions. */
export function chatsOf(links: readonly ChatLink[], accounts: readonly Account[]): Place[] {
  return links.flatMap(({ channel, accountId, personId }): Place[] => {
    const account = accounts.find(
      ({ settings }) => settings.channel === channel && settings.accountId === accountId,
    );
    if (account === undefined) return [];
    const target = { kind: "user", id: personId } as const;
    return [{ account, address: { channel, accountId, target }, personId }];
  });
}

/** The users whose calls an account shows in groups. */
export function usersOfGroups({ settings: { entry } }: Account): string[] {
  return entry.approvals.flatMap(({ of = [entry.caller] }) => of);
}
