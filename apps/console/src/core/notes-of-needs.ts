import type { Approval } from "@switchyard/client/operations";
import { toolText } from "./names.ts";
import type { Need } from "./needs.ts";
import { wantsNotes } from "./notify.ts";
import { pushWorker } from "./push.ts";
import { navigate } from "./router.ts";

let known: ReadonlySet<string> | null = null;

/** Notifies of calls and other needs that were added to the inbox since the last call; the first one only records them. */
export function notifyOf(
  calls: readonly Pick<Approval, "id" | "tool" | "principal">[],
  others: readonly Need[],
): void {
  const notes = [...calls.map(noteOfCall), ...others.map(noteOfNeed)];
  const before = known;
  known = new Set(notes.map(({ id }) => id));
  if (before === null || !wantsNotes.value || document.hasFocus()) return;
  for (const note of notes) if (!before.has(note.id)) void notify(note);
}

/**
 * The words of a notification: names alone. Arguments and texts of a run would stay in the system's list of notifications, outside
 * this page.
 */
interface Note {
  readonly id: string;
  readonly title: string;
  readonly body: string;
}

function noteOfCall({ id, tool, principal }: Pick<Approval, "id" | "tool" | "principal">): Note {
  const who = principal.agent ?? principal.user;
  return { id, title: `${who} waits for your approval`, body: toolText(tool.name) };
}

function noteOfNeed(need: Need): Note {
  const { id } = need;
  switch (need.kind) {
    case "question":
      return { id, title: `${need.question.agent} has a question`, body: "A run waits for it" };
    case "elicitation":
      return { id, title: `${need.question.server} has a question`, body: "A server waits for it" };
    case "limit":
      return { id, title: `${need.run.agent} reached a limit`, body: "Its run waits" };
    case "pins":
      return { id, title: `Tools of ${need.server.name} changed`, body: "Calls are held back" };
    case "withheld":
      return { id, title: `${need.withheld.name} is withheld`, body: need.withheld.kind };
    case "dead":
      return { id, title: `A run of ${need.run.agent} was given up`, body: "Its runners died" };
    case "letter":
      return { id, title: "A command was given up", body: "Its runners died" };
    default:
      return need satisfies never;
  }
}

async function notify({ id, title, body }: Note): Promise<void> {
  try {
    const worker = pushWorker.value;
    // The worker's notes replace each other by their tag, so what web push brings too is shown once.
    if (worker !== null) return await worker.showNotification(title, { body, tag: id });
    // All tabs of the browser show one note for a thing.
    const note = new Notification(title, { body, tag: id });
    note.addEventListener("click", () => {
      focus();
      navigate(`/approvals?id=${encodeURIComponent(id)}`);
      note.close();
    });
  } catch {
    // Some browsers on phones have them for service workers alone.
  }
}
