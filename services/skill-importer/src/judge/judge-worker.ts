import { answerJobs } from "./answer-jobs.ts";
import { judge } from "./judge.ts";

answerJobs(judge);
