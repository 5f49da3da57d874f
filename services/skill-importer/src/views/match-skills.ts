import type { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import MiniSearch from "minisearch";

export interface SkillMatch {
  readonly skill: SkillSummary;
  readonly score: number;
  /** The words that the text and the skill share. */
  readonly terms: string[];
}

export interface SkillIndex {
  /**
   * Returns the skills that share a word with the text, the best first (BM25), equal ones by name. The same skills and text
   * always give the same answer.
   */
  match(text: string, limit?: number): SkillMatch[];
}

const BOOST = { name: 3, triggers: 2, description: 1 };
/** Further different words add little information about the topic of a text. */
const MAX_TERMS = 256;
const MIN_PREFIX_LETTERS = 4;

// Words that do not distinguish skills; in a small catalogue their rarity would give them weight.
const STOP_WORDS = new Set(
  (
    "a an and any are as at be but by can could do does for from has have how i if in into is it its me my no not of on or " +
    "please should so some than that the their them then there these they this to use used uses using want was we what when " +
    "where which who why will with would you your skill skills"
  ).split(" "),
);

/** Makes the index of a catalogue. */
export function indexSkills(skills: readonly SkillSummary[]): SkillIndex {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  const index = new MiniSearch({
    idField: "name",
    fields: Object.keys(BOOST),
    tokenize: wordsOf,
    processTerm: termOf,
    extractField: (skill: SkillSummary, field) => fieldOf(skill, field),
  });
  // The order of adding is part of the scores' last digits.
  index.addAll([...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)));
  return {
    match(text, limit = Number.POSITIVE_INFINITY) {
      const words = [...new Set(wordsOf(text).flatMap((word) => termOf(word) ?? []))];
      const results = index.search(words.slice(0, MAX_TERMS).join(" "), {
        boost: BOOST,
        // `summarise` finds `summarises`, and `test` finds `testing`.
        prefix: (term) => term.length >= MIN_PREFIX_LETTERS,
      });
      return results
        .toSorted((a, b) => b.score - a.score || (String(a.id) < String(b.id) ? -1 : 1))
        .slice(0, limit)
        .flatMap(({ id, score, queryTerms }) => {
          const skill = byName.get(String(id));
          return skill === undefined ? [] : [{ skill, score, terms: queryTerms.toSorted() }];
        });
    },
  };
}

/** Caches the last index: a catalogue changes rarely, and a large one takes some time to index. */
export function createIndexCache(): (skills: readonly SkillSummary[]) => SkillIndex {
  let last: { readonly key: string; readonly index: SkillIndex } | null = null;
  return (skills) => {
    const key = skills.map(({ name, digest }) => `${name} ${digest}`).join("\n");
    if (last?.key !== key) last = { key, index: indexSkills(skills) };
    return last.index;
  };
}

function fieldOf(skill: SkillSummary, field: string): string {
  switch (field) {
    case "triggers":
      return (skill.triggers ?? []).join("\n");
    case "description":
      return skill.description;
    default:
      return skill.name;
  }
}

function termOf(word: string): string | null {
  const term = word.normalize("NFKC").toLowerCase();
  return STOP_WORDS.has(term) || (term.length < 2 && term < "\u0080") ? null : term;
}

// Scripts without spaces between words.
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const segmenter = new Intl.Segmenter("en", { granularity: "word" });

function wordsOf(text: string): string[] {
  if (!UNSPACED.test(text)) return text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  return [...segmenter.segment(text)].flatMap(({ segment, isWordLike }) =>
    isWordLike === true ? [segment] : [],
  );
}
