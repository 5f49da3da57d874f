import { exportAudit } from "@switchyard/contracts/policy/audit-queries";
import { refusalOf, UserRole } from "@switchyard/contracts/user-roles";
import { z } from "zod";
import type { User } from "../identity/user-cache.ts";
import { EVENT_FEED } from "./event-feed.ts";
import { routes } from "./route-table.ts";

/** The answer of `GET /me`: the user of the credential. */
export const Me = z.object({
  caller: z.string(),
  roles: z.array(UserRole),
  /** The name of the credential, never the credential. */
  credential: z.string(),
  /** Missing: everything that the roles allow. */
  scopes: z.array(z.string()).optional(),
  /** The operations that the credential may use, as method and path below `/api/v1`. A user interface shows these alone. */
  may: z.array(z.string()),
});
export type Me = z.infer<typeof Me>;

export function meOf(user: User): Me {
  const { caller, roles, scopes, credential } = user;
  const may = routes
    .filter(({ contract }) => refusalOf(contract, user) === null)
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  const follows = refusalOf(EVENT_FEED, user) === null ? ["GET /events"] : [];
  const exports = refusalOf(exportAudit, user) === null ? ["GET /audit/export"] : [];
  const system =
    refusalOf({ name: "system", role: "viewer" }, user) === null ? ["GET /system"] : [];
  return {
    caller,
    roles,
    credential,
    ...(scopes && { scopes }),
    may: [...may, ...follows, ...exports, ...system],
  };
}
