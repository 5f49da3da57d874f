import { USER_TOKEN_MAX_LENGTH, UserTokenClaims } from "@switchyard/contracts/policy/user-tokens";
import type { TokenKind } from "./run-token.ts";

/** The gateway's word for whom it sends a message: signed with the keys of run tokens, and never taken for one. */
export const USER_TOKEN: TokenKind<UserTokenClaims> = {
  name: "user token",
  type: "yard-user+jwt",
  maxLength: USER_TOKEN_MAX_LENGTH,
  claims: UserTokenClaims,
  shorten: "use fewer scopes",
};
