import type { VerifiedCaller } from "@switchyard/bus/verified-caller";
import type { Service } from "@switchyard/bus/serve";
import { failuresOf } from "@switchyard/contracts/errors";
import {
  deleteServerSecret,
  listServerSecrets,
  MAX_SECRETS,
  setServerSecret,
  type ServerSecret,
} from "@switchyard/contracts/mcp-broker/mcp-secrets";
import { storeFailureAs } from "@switchyard/service/store-error";
import { KEYS_SETTING } from "@switchyard/service/keys-directory";
import { TOKEN_KEY_FILE } from "../auth/token-cipher.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerOwner } from "../ownership/server-owner.ts";
import { usersOf } from "../secrets/follow-secrets.ts";
import type { StoredSecret } from "../secrets/secret-store.ts";
import type { ServerSecrets } from "../secrets/server-secrets.ts";
import { checkAdmin } from "./check-admin.ts";

export interface SecretDeps {
  readonly pool: Pick<ServerPool, "members">;
  readonly secrets: ServerSecrets;
  /** NATS users that may list and change secrets. */
  readonly admins: readonly string[];
  /** Reads the secrets here, and connects servers anew whose secrets changed. Rejects with StoreError. */
  readonly syncSecrets: () => Promise<void>;
  readonly owner: Pick<ServerOwner, "announceRegistry">;
  readonly log: { info(fields: object, message: string): void };
}

const fail = failuresOf({ ...setServerSecret.errors, ...deleteServerSecret.errors });

/** Answers the contracts of secrets. No value leaves the broker through them. */
export function handleSecrets(service: Service, deps: SecretDeps): void {
  const { pool, secrets, syncSecrets, owner, log } = deps;
  const adminOf = (verified: VerifiedCaller): string =>
    checkAdmin(deps.admins, verified, "see and change secrets of MCP servers");

  service.handle(listServerSecrets, async (_request, context) => {
    adminOf(context);
    await orUnavailable(syncSecrets);
    const all = [...secrets.all].map(([name, secret]) => shown(pool, name, secret));
    return { secrets: all.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
  });

  service.handle(setServerSecret, async ({ name, value, servers }, context) => {
    const by = adminOf(context);
    if (!secrets.isWritable)
      throw fail.secret_key_missing(
        `The broker has no key to encrypt secrets with: let ${KEYS_SETTING} name a directory of yard keys init with ${TOKEN_KEY_FILE} and start it again.`,
        { setting: KEYS_SETTING },
      );
    const stored = await orUnavailable(() => secrets.set(name, { value, owner: by, servers }));
    if (stored === null)
      throw fail.too_many(`There are ${MAX_SECRETS} secrets already; delete one first.`, {
        limit: MAX_SECRETS,
      });
    log.info({ secret: name, by }, "secret of mcp servers stored");
    const secret = shown(pool, name, stored);
    await orUnavailable(syncSecrets);
    owner.announceRegistry(secret.usedBy[0] ?? ALL);
    return { secret };
  });

  service.handle(deleteServerSecret, async ({ name }, context) => {
    const by = adminOf(context);
    const servers = usersOf(pool, name);
    if (servers.length > 0)
      throw fail.secret_in_use(
        `Secret ${name} is used by ${servers.join(", ")}; change their declarations first.`,
        { name, servers },
      );
    if (!(await orUnavailable(() => secrets.remove(name))))
      throw fail.unknown_secret(`There is no secret ${name}; see them with yard mcp secret list.`, {
        name,
      });
    log.info({ secret: name, by }, "secret of mcp servers deleted");
    await orUnavailable(syncSecrets);
    owner.announceRegistry(ALL);
    return { deleted: true as const, name };
  });
}

/** Stands for the server in a hint that is about none: every broker reads the registry then. */
const ALL = "secrets";

function shown(
  pool: Pick<ServerPool, "members">,
  name: string,
  { owner, updatedAt, servers }: StoredSecret,
): ServerSecret {
  return { name, owner, updatedAt, servers, usedBy: usersOf(pool, name) };
}

const orUnavailable = storeFailureAs(({ message: cause }) =>
  fail.registry_unavailable(
    `Secrets cannot be read or changed now: ${cause}; try again when Redis is up.`,
    { cause },
  ),
);
