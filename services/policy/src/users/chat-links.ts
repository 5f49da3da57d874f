import type { Service } from "@switchyard/bus/serve";
import type { CallContext } from "@switchyard/bus/handler";
import {
  claimChatLink,
  createChatLink,
  listChatLinks,
  revokeChatLink,
  type ChatIdentity,
} from "@switchyard/contracts/policy/chat-links";
import { cutText } from "@switchyard/contracts/cut-text";
import { failuresOf } from "@switchyard/contracts/errors";
import { isAdmin } from "@switchyard/contracts/user-roles";
import { UserKeyId, type UserTokenClaims } from "@switchyard/contracts/policy/user-tokens";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { checkAdmin } from "../check-admin.ts";
import {
  publicLink,
  type ChatLinkStore,
  type LinkRights,
  type StoredLink,
} from "./chat-link-store.ts";
import { orUnavailable } from "./user-handlers.ts";
import type { UserKeyStore } from "./user-key-store.ts";

/** Finds the callers of persons in chats. */
export interface ChatLinks {
  /** Null for a person without a link, and for a link whose credential has ended. Rejects with StoreError. */
  find(identity: ChatIdentity): Promise<StoredLink | null>;
  /** The links with `asks`. Rejects with StoreError. */
  asking(): Promise<readonly StoredLink[]>;
}

export interface ChatLinkParts {
  readonly store: ChatLinkStore;
  readonly keys: Pick<UserKeyStore, "read">;
  /** Returns the claims of a user token. */
  readonly verify: (token: string) => Promise<UserTokenClaims>;
  /** NATS users that may list and end all links. */
  readonly admins: readonly string[];
  readonly lifetimeMs: number;
  /** Records an access in the audit. */
  readonly record: (fact: Extract<AuditFact, { kind: "access" }>) => void;
  readonly now: () => number;
}

const CODE_MS = 600_000;
const fail = failuresOf({ ...claimChatLink.errors, ...revokeChatLink.errors });

export function createChatLinks({
  store,
  keys,
  now,
}: Pick<ChatLinkParts, "store" | "keys" | "now">): ChatLinks {
  const isAlive = async ({ credential }: StoredLink): Promise<boolean> => {
    // A link ends with the API key that made it, like a browser session.
    if (credential === null || !UserKeyId.safeParse(credential).success) return true;
    const key = await keys.read(credential);
    const ends = [key?.expiresAt ?? null, key?.revokedAt ?? null].filter((end) => end !== null);
    return key !== null && ends.every((end) => now() < Date.parse(end));
  };
  return {
    async find(identity) {
      const link = await store.find(identity);
      return link !== null && (await isAlive(link)) ? link : null;
    },
    async asking() {
      const asking = (await store.list()).filter(({ asks }) => asks);
      const alive = await Promise.all(asking.map(isAlive));
      return asking.filter((_, at) => alive[at]);
    },
  };
}

export function serveChatLinks(service: Service, parts: ChatLinkParts): void {
  const { store, admins, now } = parts;
  service.handle(createChatLink, ({ asks }, context) =>
    orUnavailable(async () => {
      const { caller } = context;
      const rights = await rightsOf(parts, context);
      const code = await store.createCode({ ...rights, caller, asks }, CODE_MS);
      return { code, expiresAt: new Date(now() + CODE_MS).toISOString() };
    }),
  );
  service.handle(listChatLinks, ({ user }, context) =>
    orUnavailable(async () => {
      if (user !== undefined && user !== context.caller) checkAdmin(admins, context);
      const wanted = user ?? context.caller;
      const all = await store.list();
      return {
        links: all.filter(({ caller }) => wanted === "*" || caller === wanted).map(publicLink),
      };
    }),
  );
  service.handle(revokeChatLink, ({ id }, context) =>
    orUnavailable(async () => {
      const { caller, roles, correlationId } = context;
      const link = await store.read(id);
      if (link === null || (link.caller !== caller && !isAdmin(admins, { caller, roles })))
        throw fail.unknown_link(`there is no link ${id} of yours; chat-links.list shows them`, {
          id,
        });
      await store.end(id);
      parts.record({
        ...factOf(link, "unlinked"),
        about: `by ${caller}`,
        requestId: correlationId,
      });
      return { link: publicLink(link) };
    }),
  );
  service.handle(claimChatLink, ({ code, identity, isPrivate }, { correlationId: requestId }) =>
    orUnavailable(async () => {
      if (!isPrivate) {
        await store.burn(code);
        throw fail.unknown_code("the code was written where others read it, and has ended", {
          reason: "not_private",
        });
      }
      const { lifetimeMs } = parts;
      const claimed = await store.claim(code, { identity, now: now(), lifetimeMs });
      if (claimed === null)
        throw fail.unknown_code("the code was used, has expired, or never existed", {
          reason: "unknown",
        });
      const { link, replaced, isNew } = claimed;
      if (replaced !== null) parts.record({ ...factOf(replaced, "unlinked"), requestId });
      if (isNew) parts.record({ ...factOf(link, "linked"), requestId });
      return { link: publicLink(link) };
    }),
  );
}

/** A user over HTTP gives the link the rights of its credential. */
async function rightsOf(
  { verify }: ChatLinkParts,
  { userToken, roles }: Pick<CallContext, "userToken" | "roles">,
): Promise<LinkRights> {
  if (userToken === undefined || roles.length === 0) return { roles: [], credential: null };
  const { roles: all, scopes, credential } = await verify(userToken);
  return { roles: all, credential, ...(scopes && { scopes }) };
}

function factOf(
  { caller, channel, accountId, personId, id }: StoredLink,
  change: "linked" | "unlinked",
) {
  return {
    kind: "access",
    change,
    caller,
    credential: cutText(`${channel}/${accountId}:${personId}`, 200),
    address: channel,
    operation: id,
    requestId: "",
  } as const;
}
