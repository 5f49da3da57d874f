const TOKEN = /^[A-Za-z0-9_:=@+~-]{1,64}$/;

/** Returns the problem with the subject of a trigger, for its author; null when there is none. */
export function subjectProblem(subject: string): string | null {
  const tokens = subject.split(".");
  const isSubject =
    subject.length <= 256 &&
    tokens.every(
      (token, index) =>
        TOKEN.test(token) || token === "*" || (token === ">" && index === tokens.length - 1),
    );
  if (!isSubject)
    return "must be a NATS subject such as shop.orders.*.paid, of letters, digits and _ : = @ + ~ -, with the wildcards * and, at its end, >";
  const [first = ""] = tokens;
  if (first === "*" || first === ">" || first.startsWith("_"))
    return "must begin with a word, so that it does not subscribe to every subject";
  if (
    first === "yard" &&
    (tokens[1] !== "evt" || !/^[a-z]+$/.test(tokens[2] ?? "") || tokens[2] === "audit")
  )
    return "may begin with yard only for events: yard.evt.run.… and the others of docs/reference/subjects.md, without those of the audit";
  return null;
}
