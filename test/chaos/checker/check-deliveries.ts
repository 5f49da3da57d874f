import type { Evidence, JobEvidence, MessageEvidence, Violation } from "./evidence.ts";

/** Every message of a person is answered once, and every job that was due has run once. */
export function checkDeliveries({
  messages,
  jobs,
}: Pick<Evidence, "messages" | "jobs">): Violation[] {
  return [...messages.flatMap(checkAnswers), ...jobs.flatMap(checkJob)];
}

/** The agent's answer is the text that it received. */
function checkAnswers({ conversation, said, answers }: MessageEvidence): Violation[] {
  const wrong = said.flatMap((id): Violation[] => {
    const times = answers.filter((text) => text === id).length;
    if (times === 1) return [];
    return [{ rule: "message-answer", where: id, detail: `it was answered ${times} times` }];
  });
  const others = answers.filter((text) => !said.includes(text));
  if (others.length === 0) return wrong;
  const detail = `people read ${JSON.stringify(others[0])}, which answers nothing`;
  return [...wrong, { rule: "message-answer", where: conversation, detail }];
}

function checkJob({ jobId: where, ends }: JobEvidence): Violation[] {
  const [end] = ends;
  if (ends.length !== 1 || end === undefined)
    return [{ rule: "job-end", where, detail: `it has ${ends.length} ends instead of one` }];
  if (end.status === "ok") return [];
  return [{ rule: "job-end", where, detail: `it ended as ${end.status}: ${end.error}` }];
}
