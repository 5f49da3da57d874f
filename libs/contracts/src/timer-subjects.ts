const COMMANDS = "yard.cmd.";

/** Where the timer of a command is set; a later one on the same subject replaces it. */
export function timerSubject(commandSubject: string): string {
  return `yard.timer.set.${afterPrefix(commandSubject)}`;
}

/** Where a timer's message comes to lie when its time has come; from there it goes to the work queue. */
export function dueSubject(commandSubject: string): string {
  return `yard.timer.due.${afterPrefix(commandSubject)}`;
}

function afterPrefix(subject: string): string {
  if (!subject.startsWith(COMMANDS)) throw new TypeError(`${subject} is not a command's subject`);
  return subject.slice(COMMANDS.length);
}
