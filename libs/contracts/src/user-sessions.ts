import { z } from "zod";
import { event, rpc } from "./define.ts";
import { CallerName, Timestamp } from "./ids.ts";
import {
  Credential,
  signInErrors,
  UserIdentity,
  UserSessionId,
  UserStoreUnavailable,
} from "./user-tokens.ts";

/** What the key of a session begins with. It counts as a cookie alone, and no other credential does. */
export const USER_SESSION_PREFIX = "ys_";

/** A browser that signed in. */
export const UserSession = UserIdentity.extend({
  id: UserSessionId,
  openedAt: Timestamp,
  expiresAt: Timestamp,
});
export type UserSession = z.infer<typeof UserSession>;

/** Only the gateway may ask. A session is a credential for `issueUserToken` itself. */
export const openUserSession = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.open",
  summary: "Opens a browser's session for who shows a credential or has just signed in by OIDC.",
  request: z.strictObject({
    credential: Credential,
    /** The credential is an ID token that was asked for with it, and good for this alone. */
    nonce: z.string().min(16).max(200).optional(),
  }),
  /** `key` is shown here and never again; only its SHA-256 is kept. */
  reply: z.object({ key: z.string(), info: UserSession }),
  errors: signInErrors,
});

/** Only the gateway may ask, with the session that was shown to it. */
export const closeUserSession = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.close",
  summary: "Ends a browser's session at once. One that is not known has ended.",
  request: z.strictObject({ key: Credential }),
  reply: z.object({}),
  errors: { users_unavailable: UserStoreUnavailable },
});

export const listUserSessions = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.list",
  summary: "Lists one's own sessions of browsers; for policy admins anybody's.",
  role: "viewer",
  request: z.strictObject({
    /** Missing: oneself. */
    user: CallerName.optional(),
  }),
  reply: z.object({ sessions: z.array(UserSession) }),
  errors: {
    forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
    users_unavailable: UserStoreUnavailable,
  },
});

export const revokeUserSession = rpc({
  subject: "yard.rpc.{caller}.policy.user-session.revoke",
  summary: "Ends one of one's own sessions of browsers at once; for policy admins anybody's.",
  role: "viewer",
  request: z.strictObject({ id: UserSessionId }),
  reply: z.object({ info: UserSession }),
  errors: {
    users_unavailable: UserStoreUnavailable,
    /** It has ended, or is somebody else's. */
    unknown_session: { data: z.object({ id: z.string() }) },
  },
});

/** Gateways forget what they keep of it. One that misses it does so when the user token ends. */
export const userSessionEnded = event({
  subject: "yard.evt.user-session.{id}.ended",
  summary: "A session of a browser ended before its time.",
  payload: z.object({ id: UserSessionId, caller: CallerName, by: CallerName }),
});
