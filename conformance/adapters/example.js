// A scorer in another language: reciprocal rank, ties in the order of the lines, missing queries left out.
const lines = require("readline").createInterface({ input: process.stdin });

lines.on("line", (line) => {
  const question = JSON.parse(line);
  if (question.about) {
    console.log(JSON.stringify({ tool: "example", version: "1", call: "node example.js" }));
    return;
  }
  const relevant = new Set(question.qrels.filter(([, , label]) => label > 0).map(([qid, docid]) => qid + " " + docid));
  const judged = new Set(question.qrels.map(([qid]) => qid));
  const rankings = new Map();
  for (const [qid, docid, , score] of question.run) {
    if (!judged.has(qid)) continue;
    if (!rankings.has(qid)) rankings.set(qid, []);
    rankings.get(qid).push([Number(score === "inf" ? Infinity : score), docid]);
  }
  const values = {};
  for (const [qid, ranking] of rankings) {
    ranking.sort(([one], [other]) => other - one);
    const place = ranking.findIndex(([, docid]) => relevant.has(qid + " " + docid));
    values[qid] = place < 0 ? 0 : 1 / (place + 1);
  }
  console.log(JSON.stringify({ values: question.measures.includes("RR") ? { RR: values } : {} }));
});
