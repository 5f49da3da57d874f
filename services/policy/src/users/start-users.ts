import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import type { Service } from "@switchyard/bus/serve";
import { userSessionEnded } from "@switchyard/contracts/policy/user-sessions";
import { userKeyRevoked } from "@switchyard/contracts/policy/user-tokens";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { readKeyFile } from "@switchyard/service/keys-directory";
import type { KeyRing } from "../tokens/key-ring.ts";
import { createIssuerTokens } from "./issuer-tokens.ts";
import { readIssuers } from "./issuers-file.ts";
import { createSignIn } from "./sign-in.ts";
import { serveUserSessions } from "./session-handlers.ts";
import { serveUsers } from "./user-handlers.ts";
import { createChatLinkStore, type ChatLinkStore } from "./chat-link-store.ts";
import {
  createChatLinks,
  serveChatLinks,
  type ChatLinkParts,
  type ChatLinks,
} from "./chat-links.ts";
import { serveChatQuestions } from "./chat-questions.ts";
import { createUserKeyStore, type UserKeyStore } from "./user-key-store.ts";
import { createUserSessionStore } from "./user-session-store.ts";

/** The lifetime of a link of a chat with a caller. */
const CHAT_LINK_DAYS = 90;

export interface UserStores {
  readonly keys: UserKeyStore;
  readonly links: ChatLinkStore;
  /** The callers of persons in chats. */
  readonly chatLinks: ChatLinks;
}

export function openUserStores(redis: Redis, now: () => number): UserStores {
  const keys = createUserKeyStore(redis);
  const links = createChatLinkStore(redis);
  return { keys, links, chatLinks: createChatLinks({ store: links, keys, now }) };
}

/** People and programs that sign in at the gateway. Throws a StartError for files that cannot be used. */
export async function startUsers(
  kit: {
    readonly bus: Bus;
    readonly log: Log;
    readonly redis: Redis;
    readonly config: {
      readonly YARD_ISSUERS_FILE?: string | undefined;
      readonly YARD_KEYS_DIR?: string | undefined;
      readonly YARD_USER_SESSION_MS: number;
      readonly YARD_ADMINS: readonly string[];
    };
  },
  parts: {
    readonly service: Service;
    readonly keyRing: Pick<KeyRing, "signUser" | "verifyUser">;
    readonly accessed: ChatLinkParts["record"];
    readonly now: () => number;
  } & UserStores,
): Promise<void> {
  const { bus, log, redis, config } = kit;
  const { service, keyRing, keys, links, now } = parts;
  const { YARD_ISSUERS_FILE: issuersFile, YARD_KEYS_DIR: keysDirectory } = config;
  const issuers = issuersFile === undefined ? null : await readIssuers(issuersFile);
  const sessions = createUserSessionStore(redis, now);
  const tokens = issuers === null ? null : createIssuerTokens(issuers, now);
  const signIn = createSignIn({
    keys,
    sessions,
    issuerToken: tokens?.accessToken ?? null,
    laptopToken: await readKeyFile(keysDirectory, "laptop.token"),
    now,
  });
  serveUserSessions(service, {
    signIn,
    idToken: tokens?.idToken ?? null,
    sessions,
    admins: config.YARD_ADMINS,
    lifetimeMs: config.YARD_USER_SESSION_MS,
    now,
    onEnded({ id, caller }, by) {
      publishEvent(bus, userSessionEnded, { id }, { id, caller, by }).catch((err: unknown) =>
        log.warn({ err, id }, "end of a session not published; gateways know it within a minute"),
      );
    },
  });
  serveChatLinks(service, {
    store: links,
    keys,
    verify: keyRing.verifyUser,
    admins: config.YARD_ADMINS,
    lifetimeMs: CHAT_LINK_DAYS * 86_400_000,
    record: parts.accessed,
    now,
  });
  serveChatQuestions(service, { bus, chatLinks: parts.chatLinks });
  serveUsers(service, {
    signIn,
    keys,
    issuers: issuers?.map(({ issuer }) => issuer) ?? [],
    now,
    admins: config.YARD_ADMINS,
    sign: keyRing.signUser,
    verify: keyRing.verifyUser,
    onRevoked({ id, caller }, facts) {
      publishEvent(bus, userKeyRevoked, { id }, { id, caller, ...facts }).catch((err: unknown) =>
        log.warn({ err, id }, "end of an API key not published; gateways know it within a minute"),
      );
    },
  });
}
