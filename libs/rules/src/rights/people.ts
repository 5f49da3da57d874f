import type { Bundle } from "../schema/bundle.ts";

/** The people behind user names: one person may sign in as several users, and deputies act for others. */
export interface People {
  /** The person's id; a user whom `people` does not list is a person of that name. */
  personOf(user: string): string;
  /** All user names of a person. */
  namesOf(person: string): readonly string[];
  /** The people for whom the user is a deputy at a time in milliseconds since the Unix epoch. A deputy's deputy is none. */
  actsFor(user: string, atMs: number): readonly string[];
}

const DAY_MS = 86_400_000;

export function compilePeople({
  people = [],
  deputies = [],
}: Pick<Bundle, "people" | "deputies">): People {
  const names = new Map(people.map(({ id, users }) => [id, [...new Set([id, ...users])]]));
  const persons = new Map([...names].flatMap(([id, users]) => users.map((user) => [user, id])));
  const personOf = (user: string): string => persons.get(user) ?? user;
  const acting = deputies.map((entry) => ({
    for: personOf(entry.for),
    by: new Set(entry.by.map(personOf)),
    fromMs: entry.since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(entry.since),
    untilMs:
      entry.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(entry.until) + DAY_MS,
  }));
  return {
    personOf,
    namesOf: (person) => names.get(person) ?? [person],
    actsFor(user, atMs) {
      const person = personOf(user);
      const active = acting.filter(
        ({ by, fromMs, untilMs }) => by.has(person) && fromMs <= atMs && atMs < untilMs,
      );
      return [...new Set(active.map((entry) => entry.for))];
    },
  };
}
