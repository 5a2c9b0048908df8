// First come, first served, as a process of its own: jobs of one GPU per worker, on the fullest node that fits.
// g++ -O2 -std=c++17 -o fifo fifo.cpp
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

// ---- just enough JSON: the input comes from dlsched and is valid -------------------------------------------

struct Value {
    double number = 0;
    std::string text;
    std::vector<Value> list;
    std::map<std::string, Value> fields;
    const Value& operator[](const std::string& name) const { return fields.at(name); }
    int whole() const { return static_cast<int>(number); }
};

struct Reader {
    const char* at;

    char next() {
        while (*at == ' ' || *at == ',' || *at == ':') ++at;
        return *at;
    }
    std::string string() {
        std::string text;
        for (++at; *at != '"'; ++at) text += *at == '\\' ? *++at : *at;
        ++at;
        return text;
    }
    Value value() {
        Value v;
        char first = next();
        if (first == '{') {
            for (++at; next() != '}';) {
                std::string name = string();
                v.fields[name] = value();
            }
            ++at;
        } else if (first == '[') {
            for (++at; next() != ']';) v.list.push_back(value());
            ++at;
        } else if (first == '"') {
            v.text = string();
        } else if (first == 't' || first == 'f' || first == 'n') {
            v.number = first == 't';
            while (*at >= 'a' && *at <= 'z') ++at;
        } else {
            char* end;
            v.number = std::strtod(at, &end);
            at = end;
        }
        return v;
    }
};

// ---- the policy --------------------------------------------------------------------------------------------

using Nodes = std::vector<std::pair<int, int>>;  // node, GPUs
std::vector<int> capacity, room;
std::set<int> waiting;  // jobs are numbered in order of submission
std::map<int, int> width;
std::map<int, Nodes> held;

Nodes place(int gpus) {  // empty = no room; a job larger than every node takes wholly free nodes
    Nodes nodes;
    int count = static_cast<int>(room.size()), best = -1;
    if (gpus <= *std::max_element(capacity.begin(), capacity.end())) {
        for (int node = 0; node < count; ++node)
            if (room[node] >= gpus && (best < 0 || room[node] < room[best])) best = node;
        if (best >= 0) nodes.push_back({best, gpus});
        return nodes;
    }
    for (int node = 0; node < count && gpus; ++node)
        if (room[node] && room[node] == capacity[node]) {
            nodes.push_back({node, std::min(room[node], gpus)});
            gpus -= nodes.back().second;
        }
    return gpus ? Nodes{} : nodes;
}

void give_back(int job) {
    for (auto [node, gpus] : held[job]) room[node] += gpus;
    held.erase(job);
}

std::string decide(const Value& question) {
    for (const Value& job : question["ended"].list) {
        give_back(job.whole());
        waiting.erase(job.whole());  // cancelled while it waited
    }
    for (const Value& job : question["returned"].list) {
        give_back(job.whole());
        waiting.insert(job.whole());
    }
    for (const Value& job : question["submitted"].list) {
        width[job["job"].whole()] = job["workers"].whole();
        waiting.insert(job["job"].whole());
    }
    for (const Value& node : question["down"].list) room[node.whole()] = 0;
    for (const Value& node : question["up"].list) room[node.whole()] = capacity[node.whole()];
    std::string starts;
    while (!waiting.empty()) {
        int job = *waiting.begin();
        Nodes nodes = place(width[job]);
        if (nodes.empty()) break;
        starts += std::string(starts.empty() ? "" : ",") + "{\"job\":" + std::to_string(job) + ",\"nodes\":[";
        for (size_t i = 0; i < nodes.size(); ++i) {
            room[nodes[i].first] -= nodes[i].second;
            starts += std::string(i ? "," : "") + "[" + std::to_string(nodes[i].first) + "," +
                      std::to_string(nodes[i].second) + "]";
        }
        starts += "]}";
        held[job] = nodes;
        waiting.erase(job);
    }
    return "{\"start\":[" + starts + "]}";
}

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        Value question = Reader{line.c_str()}.value();
        std::string type = question["type"].text, answer = "{}";
        if (type == "hello") answer = "{\"protocol\":1}";
        if (type == "start")
            for (const Value& node : question["nodes"].list) {
                capacity.push_back(node["gpus"].whole());
                room.push_back(node["up"].number ? capacity.back() : 0);
            }
        if (type == "decide") answer = decide(question);
        std::cout << answer << std::endl;
    }
}
