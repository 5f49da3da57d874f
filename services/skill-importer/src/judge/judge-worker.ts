import { answerJobs } from "./answer-jobs.ts";
import { doJob } from "./judge-job.ts";

answerJobs(doJob);
