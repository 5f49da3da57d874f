import { answerJobs } from "./answer-jobs.ts";
import { analyze } from "./analyze.ts";

answerJobs(analyze);
