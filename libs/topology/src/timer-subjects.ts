const COMMANDS = "yard.cmd.";

/** The subject of a command's timer; a later one on the same subject replaces it. */
export function timerSubject(commandSubject: string): string {
  return `yard.timer.set.${afterPrefix(commandSubject)}`;
}

/** The subject under which a timer's message is stored when it is due; from there it goes to the work queue. */
export function dueSubject(commandSubject: string): string {
  return `yard.timer.due.${afterPrefix(commandSubject)}`;
}

function afterPrefix(subject: string): string {
  if (!subject.startsWith(COMMANDS)) throw new TypeError(`${subject} is not a command's subject`);
  return subject.slice(COMMANDS.length);
}
