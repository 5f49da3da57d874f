import type { Approval, Presentation } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { durationText, prettyJson } from "../core/format.ts";
import { act } from "../core/resource.ts";
import { useSeen } from "../core/seen.ts";
import { client, may } from "../core/session.ts";
import { hasShortcuts, useShortcuts } from "../core/shortcuts.ts";
import { toast } from "../core/toasts.ts";
import { ask } from "../ui/dialog.tsx";
import { approvedText } from "./approval-votes.tsx";

/** A waiting call with the version that is shown: a decision applies to exactly this one. */
interface ShownCall {
  readonly approval: Approval;
  readonly presentation: Presentation;
}

/** Arguments in the place of those of the call, or what is wrong with them; neither when they stay. */
interface Changed {
  readonly arguments?: Record<string, unknown>;
  readonly problem?: string;
}

interface Props extends ShownCall {
  /** The call was decided by a key: the person wants to see the next one. */
  readonly onDecidedByKey: () => void;
}

/** The decisions that a person may make; they are enabled when the call has been in sight for a moment. */
export function Decide({ approval, presentation, onDecidedByKey }: Props) {
  const [reason, setReason] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [edited, setEdited] = useState<string | null>(null);
  const changed: Changed = edited === null ? {} : argumentsOf(edited);
  const isSeen = useSeen(`${approval.id} ${approval.binding} ${presentation.args}`);
  const isReady = isSeen && !isBusy;
  const needsReason = approval.reasonFor.includes("approvals");
  const isApprovable =
    isReady && (!needsReason || reason.trim() !== "") && changed.problem === undefined;
  const isAllowed = may("POST /approvals/{id}/approve");
  const decide = async (how: () => Promise<boolean>): Promise<boolean> => {
    setBusy(true);
    const isDone = await how();
    if (!isDone) setBusy(false);
    return isDone;
  };
  const shown = { approval, presentation };
  const once = (): Promise<boolean> =>
    decide(() =>
      approve(shown, {
        scope: "once",
        reason,
        ...(changed.arguments !== undefined && { arguments: changed.arguments }),
      }),
    );
  const denied = (): Promise<boolean> => decide(() => deny(shown));
  const byKey = async (decided: Promise<boolean>): Promise<void> => {
    if (await decided) onDecidedByKey();
  };
  useShortcuts(
    isReady && isAllowed
      ? { ...(isApprovable && { a: () => void byKey(once()) }), d: () => void byKey(denied()) }
      : {},
  );
  if (!isAllowed) return <p class="note wait">A person with the role approver decides about it.</p>;
  return (
    <>
      <label class="field">
        <span>
          Why you approve it ({needsReason ? "required by the rules" : "optional, for the record"})
        </span>
        <input
          required={needsReason}
          value={reason}
          maxLength={500}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {edited !== null && (
        <label class="field">
          <span>The arguments that the call is made with; the rules decide about them, too</span>
          <textarea
            class="code"
            ref={bringIntoSight}
            rows={10}
            value={edited}
            data-testid="edited-arguments"
            onInput={(event) => setEdited(event.currentTarget.value)}
          />
        </label>
      )}
      {changed.problem !== undefined && (
        <p class="note wait" role="alert">
          {changed.problem}
        </p>
      )}
      <div class="actions decide">
        <button
          type="button"
          class="button primary"
          data-testid="approve"
          disabled={!isApprovable}
          onClick={() => void once()}
        >
          {edited === null ? "Approve once" : "Approve with these arguments"}{" "}
          {hasShortcuts.value && <kbd>a</kbd>}
        </button>
        {edited === null && approval.tier === "session" && (
          <button
            type="button"
            class="button"
            data-testid="approve-session"
            disabled={!isApprovable}
            onClick={() => void decide(() => approve(shown, { scope: "session", reason }))}
          >
            {approval.grantTtlMs === null
              ? "Approve for more"
              : `Approve for ${durationText(approval.grantTtlMs)}`}
          </button>
        )}
        <button
          type="button"
          class="button danger"
          data-testid="deny"
          disabled={!isReady}
          onClick={() => void denied()}
        >
          Deny {hasShortcuts.value && <kbd>d</kbd>}
        </button>
        {isEditable(shown) && (
          <button
            type="button"
            class="button"
            data-testid="edit-arguments"
            onClick={() => setEdited(edited === null ? prettyJson(presentation.args) : null)}
          >
            {edited === null ? "Edit arguments…" : "Keep its arguments"}
          </button>
        )}
      </div>
    </>
  );
}

/** On a phone the field is below what decides. */
function bringIntoSight(field: HTMLTextAreaElement | null): void {
  field?.scrollIntoView({ block: "center" });
  field?.focus({ preventScroll: true });
}

/** One person may change what is shown whole and as it is. */
function isEditable({ approval, presentation }: ShownCall): boolean {
  const { needed, tool, requirements } = approval;
  const isFixed = requirements.some((one) => one.isFixed === true);
  const { isCut, hasRedactions, hasHiddenCharacters } = presentation;
  const startsAgent = tool.server === null && tool.tool === "agent";
  return (
    needed === 1 && !isFixed && !startsAgent && !isCut && !hasRedactions && !hasHiddenCharacters
  );
}

/** Reads arguments that a person has written. */
function argumentsOf(text: string): Changed {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { arguments: { ...value } };
  } catch {
    return { problem: "This is not JSON yet." };
  }
  return { problem: "The arguments must be a JSON object." };
}

/** True when it was approved. */
async function approve(
  shown: ShownCall,
  how: {
    readonly scope: "once" | "session";
    readonly reason: string;
    readonly arguments?: Record<string, unknown>;
  },
): Promise<boolean> {
  const { id, binding, risk } = shown.approval;
  const { scope, reason, arguments: changed } = how;
  const args = changed === undefined ? shown.presentation.args : JSON.stringify(changed);
  if (risk === "high" && !(await isConfirmed(shown, args))) return false;
  const body = {
    binding,
    scope,
    ...(reason.trim() !== "" && { reason: reason.trim() }),
    ...(changed !== undefined && { arguments: changed }),
  };
  return act("", async () => {
    const reply = await client.request("POST /approvals/{id}/approve", { path: { id }, body });
    toast({ text: approvedText(reply), tone: "good" });
  });
}

/** True when it was denied. */
async function deny({ approval: { id, binding, tool, reasonFor } }: ShownCall): Promise<boolean> {
  const reason = await ask({
    title: `Deny ${tool.name}?`,
    text: "The agent receives the reason and continues without the call.",
    action: "Deny the call",
    isDangerous: true,
    input: {
      label: `Reason (${reasonFor.includes("denials") ? "required by the rules, and " : ""}the agent reads it)`,
    },
  });
  if (reason === null) return false;
  const body = { binding, ...(reason.trim() !== "" && { reason: reason.trim() }) };
  return act(`Denied: ${tool.name}`, () =>
    client.request("POST /approvals/{id}/deny", { path: { id }, body }),
  );
}

const SHOWN_CHARACTERS = 2_000;

/** A call that can do much harm is named once more: the tool, and what it acts on. */
async function isConfirmed({ approval, presentation }: ShownCall, json: string): Promise<boolean> {
  const { tool } = approval;
  const args = prettyJson(json);
  const isCut = args.length > SHOWN_CHARACTERS || presentation.isCut;
  const answer = await ask({
    title: `Approve ${tool.name}?`,
    text: (
      <>
        {whoOf(approval)} calls <strong>{tool.tool}</strong>{" "}
        {tool.server === null ? (
          "of Switchyard itself"
        ) : (
          <>
            of the MCP server <strong>{tool.server}</strong>
          </>
        )}{" "}
        with:
      </>
    ),
    details: `${args.slice(0, SHOWN_CHARACTERS)}${isCut ? "\n… (not all of them)" : ""}`,
    action: `Approve ${tool.tool}`,
    isDangerous: true,
  });
  return answer !== null;
}

export function whoOf({ principal }: Approval): string {
  return principal.agent === null ? principal.user : `${principal.agent} for ${principal.user}`;
}
