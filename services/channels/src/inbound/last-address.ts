import type { Address } from "@switchyard/contracts/channels/channel-address";
import type { Account, Accounts } from "../accounts/accounts.ts";
import type { InboundStore } from "./inbound-store.ts";

/** True for a message by which the account's own user can be found: an owner wrote it in private, or in webchat the user itself. */
export function isOwnChat(
  { settings }: Account,
  { address, senderId }: { readonly address: Address; readonly senderId: string },
): boolean {
  const { channel, entry } = settings;
  if (address.target.kind !== "user") return false;
  return entry.owners.includes(senderId) || (channel === "webchat" && senderId === entry.caller);
}

/** Returns the address from which a user's own people wrote last; null if they did not, or if the account is not the user's any more. */
export async function lastAddress(
  { store, accounts }: { readonly store: InboundStore; readonly accounts: Accounts },
  caller: string,
): Promise<Address | null> {
  const last = await store.last(caller);
  if (last === null) return null;
  const account = accounts.get(last.address.channel, last.address.accountId);
  if (account === null || account.settings.entry.caller !== caller) return null;
  return isOwnChat(account, last) ? last.address : null;
}
