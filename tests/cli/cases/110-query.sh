# SPDX-License-Identifier: MIT
make_recording pipeline p.annot && make_recording sampled s.annot
annot query p.annot "SELECT name, count(*) AS count, sum(duration_ns) AS total_ns FROM ranges
  GROUP BY name ORDER BY total_ns DESC LIMIT 5; SELECT * FROM processes WHERE id = 0"
annot query --csv p.annot "SELECT name, thread, begin_ns, path, args FROM ranges LIMIT 3"
annot query --json p.annot "SELECT cause, lost_count, begin_ns FROM losses LIMIT 2"
annot query s.annot "SELECT function, own_function, count(*), sum(cpu_ns) FROM samples
  WHERE sample_set = 'cpu' GROUP BY 1, 2 ORDER BY 4 DESC, 1 LIMIT 5"
annot query s.annot "SELECT reason, count(*), sum(blocked_ns) FROM waits GROUP BY 1 ORDER BY 3 DESC"
echo "SELECT count(*) AS n FROM marks; SELECT 1 WHERE 0" | annot query p.annot -
echo "-- nothing" >none.sql && annot query -f none.sql p.annot
annot query --from 10ms --to 12ms -o part.csv p.annot "SELECT name, cut FROM ranges"
wc -l <part.csv
COLUMNS=4000 annot query p.annot "SELECT * FROM ranges LIMIT 1" | tail -1 | tr -s " "
