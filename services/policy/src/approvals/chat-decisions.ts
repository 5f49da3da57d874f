import type { Service } from "@switchyard/bus/serve";
import type { Approval, Presentation } from "@switchyard/contracts/policy/approval-record";
import { approveCall, denyCall } from "@switchyard/contracts/policy/approvals";
import {
  approvalsForChats,
  CHAT_PAGE,
  decideInChat,
  MAX_CHAT_ARGS,
} from "@switchyard/contracts/policy/chat-links";
import { cutText } from "@switchyard/contracts/cut-text";
import { failuresOf } from "@switchyard/contracts/errors";
import { refusalOf } from "@switchyard/contracts/user-roles";
import { publicLink, type StoredLink } from "../users/chat-link-store.ts";
import type { ChatLinks } from "../users/chat-links.ts";
import { orUnavailable as orUsersUnavailable } from "../users/user-handlers.ts";
import { approve, deny, orUnavailable, type ApprovalHandlerDeps } from "./approval-handlers.ts";
import { changesText } from "./changes-text.ts";
import { atTime } from "./approval-store.ts";
import { refusedBy, settingsFor, type ApproverSettings } from "./approver.ts";
import { listPage } from "./list-approvals.ts";

export interface ChatDecisionDeps extends ApprovalHandlerDeps {
  readonly chatLinks: ChatLinks;
}

const fail = failuresOf(decideInChat.errors);

/**
 * Decisions by buttons in chats. The channels service reports which person pressed and which call was shown; whose decision that is, and
 * whether that caller may decide, is determined here, as for a decision that the caller sends itself.
 */
export function handleChatDecisions(service: Service, deps: ChatDecisionDeps): void {
  const { chatLinks, settings, store, now } = deps;
  service.handle(decideInChat, async ({ identity, id, binding, verdict }) => {
    const link = await orUsersUnavailable(() => chatLinks.find(identity));
    if (link === null) {
      const { channel, accountId } = identity;
      throw fail.not_linked("this person of the chat is linked with no caller", {
        channel,
        accountId,
      });
    }
    const { caller, roles } = link;
    const refusal = refusedByRights(link, verdict);
    if (refusal !== null) throw fail.forbidden_approver(refusal, { caller, setting: "role" });
    const who = { caller, roles, via: identity.channel };
    const { approval } =
      verdict === "approve"
        ? await approve(deps, { id, binding, scope: "once" }, who)
        : await deny(deps, { id, binding }, who);
    return { approval, by: caller };
  });

  service.handle(approvalsForChats, ({ groupsOf, watched, cursor = null }) =>
    orUsersUnavailable(async () => {
      const links = await chatLinks.asking();
      const known = await orUnavailable(() => store.readMany(watched));
      const states = known
        .filter((stored) => stored !== null)
        .map(({ approval }) => atTime(approval, now()));
      if (links.length === 0 && groupsOf.length === 0)
        return { pending: [], next: null, watched: states };
      const isInGroup = ({ principal }: Approval): boolean =>
        groupsOf.includes("*") || groupsOf.includes(principal.user);
      const isAsked = (approval: Approval): boolean =>
        approval.state === "pending" &&
        (isInGroup(approval) || links.some((link) => mayDecide(settings, link, approval)));
      const asked = { which: "pending", limit: CHAT_PAGE, cursor, fits: isAsked } as const;
      const page = await orUnavailable(() => listPage(deps, asked));
      const found = await orUnavailable(() => store.readMany(page.approvals.map(({ id }) => id)));
      const pending = found
        .filter((stored) => stored !== null)
        .map(({ approval, presentation }) => ({
          approval,
          presentation: shortened(presentation),
          changes: changesFor(presentation),
          links: links.filter((link) => mayDecide(settings, link, approval)).map(publicLink),
        }));
      return { pending, next: page.next, watched: states };
    }),
  );
}

/** Roles and scopes limit a caller over HTTP; the settings and the policy limit every caller. */
function refusedByRights(link: StoredLink, verdict: "approve" | "deny"): string | null {
  if (link.roles.length === 0) return null;
  return refusalOf(verdict === "approve" ? approveCall : denyCall, link);
}

function mayDecide(settings: ApproverSettings, link: StoredLink, approval: Approval): boolean {
  return (
    refusedByRights(link, "approve") === null &&
    refusedBy(settingsFor(settings, link), link.caller, approval) === null
  );
}

function changesFor(presentation: Presentation): string | undefined {
  const text = changesText(presentation);
  return text === null ? undefined : cutText(text, MAX_CHAT_ARGS);
}

/** A chat shows the beginning of long arguments, and the differences as text. */
function shortened(presentation: Presentation): Presentation {
  const args = cutText(presentation.args, MAX_CHAT_ARGS);
  const isCut = presentation.isCut || args.length < presentation.args.length;
  return { ...presentation, args, isCut, changes: null };
}
